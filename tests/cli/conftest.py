"""Commands count in this process; how processes count is tests/deployment/collecting's."""

import pytest


@pytest.fixture(autouse=True)
def counting(counting_here):
    """Another process takes half a second to start, each time."""
