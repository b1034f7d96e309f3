from tests.unit.console.conftest import parley

__all__ = ["parley"]
