"""Policies that spend a budget of plays; one algorithm a file."""
