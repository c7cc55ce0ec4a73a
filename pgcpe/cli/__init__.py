"""The command line: `main` carries it out."""

from pgcpe.cli.main import main

__all__ = ["main"]
