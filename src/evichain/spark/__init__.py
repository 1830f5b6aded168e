"""Bulk work on Spark: everyone's embedding, predictions of many pairs, lists for all users.

The ratings stay on the cluster. They are cut into blocks of bounded size, each with the evidence
of its entities; per depth, embeddings go to the blocks that need them, and every block generates
its own with the code of `model.layers`, which is what makes the results those of one machine.

This module imports nothing of Spark: `faults.check_installed` can say what is missing.
"""
