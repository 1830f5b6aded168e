"""Evidence: which ratings generate an embedding, and how they are laid out for the arithmetic."""
