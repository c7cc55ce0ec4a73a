"""Actions, what was observed in plays of them, and how it is coded and kept."""
