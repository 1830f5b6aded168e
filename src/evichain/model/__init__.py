"""The model: prototypes, generators, the chain, and the recursion it must agree with."""
