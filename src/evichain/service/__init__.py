"""The live service: ratings arrive, answers change at once, nothing retrains."""
