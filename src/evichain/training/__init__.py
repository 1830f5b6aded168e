"""Training: prototype pretraining, batches, the trainer and its checkpoints."""
