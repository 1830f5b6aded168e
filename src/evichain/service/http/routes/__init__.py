"""The routes, a file for each group of them: a function of the service gives a router."""
