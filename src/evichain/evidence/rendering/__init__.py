"""Traces for the eye: as text for a terminal and as a picture."""
