"""How fast the service answers, and what it loses when it is killed: measured from outside."""
