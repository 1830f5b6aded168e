"""evichain: a recommender whose size does not grow with its users."""

__version__ = "0.1.0"
