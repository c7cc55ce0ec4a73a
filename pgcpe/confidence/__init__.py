"""Intervals, confidence sequences, tests in pairs. Arrays in, arrays out; no graph is known here."""
