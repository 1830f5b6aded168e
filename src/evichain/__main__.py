"""`python -m evichain` is the `evichain` command."""

from evichain.cli import main

if __name__ == "__main__":
    main()
