"""Studies that people run over weeks, kept in a file: `Study`."""

from pgcpe.study.deadline import Deadline
from pgcpe.study.ledger import Play
from pgcpe.study.status import PlaysNeeded, Status
from pgcpe.study.study import Study

__all__ = ["Deadline", "Play", "PlaysNeeded", "Status", "Study"]
