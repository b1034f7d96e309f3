"""Parley: debates between agents as durable event streams."""

__version__ = "0.1.0"
