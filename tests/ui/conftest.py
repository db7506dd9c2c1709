"""What the tests of the pages begin with."""

import pytest

from tests.ui.pages import open_page


@pytest.fixture
def budgets():
    return open_page("budgets")
