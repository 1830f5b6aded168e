"""The operations of generators that are not matrix products, with their gradients."""
