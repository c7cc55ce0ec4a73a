"""Studies that people run over weeks, kept in a file: `Study`."""

from pgcpe.study.status import Deadline, PlaysNeeded, Status

__all__ = ["Deadline", "PlaysNeeded", "Status"]
