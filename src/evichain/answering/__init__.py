"""Every question that a user may ask, answered once, over a graph or a live snapshot."""
