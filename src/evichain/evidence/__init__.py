"""Evidence: what is chosen of the ratings to generate an embedding, and how it is laid out."""
