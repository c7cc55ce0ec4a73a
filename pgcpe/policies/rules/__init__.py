"""The rules of a policy: what to play, what to recommend, when to stop."""
