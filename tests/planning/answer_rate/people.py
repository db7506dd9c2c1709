"""The people of the BiSample paper's experiments: preferences N(5, 1.5)."""

from planner import AnswerRateModel, NormalPreferences

PREFERENCES = NormalPreferences(5, 1.5)
USERS = 100_000


def model(mean, **more):
    return AnswerRateModel(PREFERENCES, USERS, mean=mean, **more)
