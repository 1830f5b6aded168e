"""Bulk jobs on Spark: embeddings of all entities, predictions of many pairs, lists for all users.

The ratings stay on the cluster, in blocks of bounded size, each with the evidence of its entities.
At each depth, embeddings are sent to the blocks that need them, and every block generates its own
with the code of `model.layers`, so that results equal those of one machine.

This module does not import Spark, so that `faults.check_installed` can say what is missing.
"""
