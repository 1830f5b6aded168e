"""The live engine: a trained chain over ratings that change while it answers."""
