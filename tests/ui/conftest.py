"""What the tests of the pages begin with."""

import pytest

from tests.ui.pages import open_page


@pytest.fixture
def questions():
    return open_page("questions")
