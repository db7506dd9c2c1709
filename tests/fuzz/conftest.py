"""The parameters that the readers are attacked with."""

from tests.deployment.conftest import one_question, rng

__all__ = ["one_question", "rng"]
