"""Fitting the shipped weights; nothing here is imported at run time."""
