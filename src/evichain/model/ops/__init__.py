"""The steps of generators that are no matrix products, with their gradients."""
