"""The live service: ratings arrive, predictions change at once, nothing retrains."""
