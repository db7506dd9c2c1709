"""Questions about ordered answers: what is read, written and refused."""

from dataclasses import replace

import pytest

from planner import Level, Question, Survey
from planner.errors import InputError
from planner.survey.file import survey_from_text
from planner.survey.writer import survey_to_text

ENDS, MIDDLE = Level("ends", 1.0, ("0", "10+")), Level("middle", 2.0, ("1-4", "5-9"))
ORDER = ("0", "1-4", "5-9", "10+")
QUESTION = Question("q", (ENDS, MIDDLE), kind="ordinal", order=ORDER, scores=(0, 2, 7, 12))


def test_what_is_written_is_read():
    counted = Question("r", (replace(MIDDLE, importance=2.0),), kind="ordinal", wanted="counts")
    of_mean = replace(QUESTION, name="m", wanted="mean of scores")
    survey = Survey("s", 10, (QUESTION, counted, of_mean))
    assert (of_mean.of_mean, of_mean.radius, counted.of_mean) == (True, 6.0, False)
    with pytest.raises(InputError, match="Ask a numeric question, or give ordered answers scores"):
        _ = counted.radius
    assert survey_from_text(survey_to_text(survey)) == survey
    assert QUESTION.ordered == ORDER
    assert survey.questions[1].ordered == ("1-4", "5-9")
    assert QUESTION.mechanism == "channel"


def test_answers_may_be_written_as_whole_numbers():
    text = """
    [survey]
    name = "s"
    users = 10
    [[question]]
    name = "agreement"
    kind = "ordinal"
    order = [1, 2, 3]
    level = [
        {name = "ends", epsilon = 1, items = [1, 3]},
        {name = "rest", epsilon = 2, items = [2]},
    ]
    """
    (question,) = survey_from_text(text).questions
    assert question.ordered == ("1", "2", "3")


MANY = tuple(map(str, range(33)))
NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"order": ORDER[:3]}, r"order is .* must be each of '0', '10\+', '1-4', '5-9' once"),
        ({"order": (*ORDER[:3], "0")}, "order is"),
        ({"scores": (1, 2, 3)}, "scores is .* 4 finite numbers, two of them different"),
        ({"scores": (1, 1, 1, 1)}, "two of them different"),
        ({"scores": (1, 2, 3, NAN)}, "scores is"),
        ({"criterion": "minimax"}, "criterion is 'minimax' but must be left out for 'ordinal'"),
        ({"levels": (Level("a", 1.0, MANY),), "order": (), "scores": ()}, "2 to 32 for 'ordinal'"),
        ({"levels": (Level("a", 1.0, ("x",)),), "order": (), "scores": ()}, "number of answers"),
        ({"levels": (ENDS, Level("a", 1.0, (), 2))}, "items of level 'a' is .* must be listed"),
        ({"levels": (replace(ENDS, prior=0.5), MIDDLE)}, "prior of level 'ends'"),
        ({"wanted": "count"}, "wanted is 'count' .* counts"),
        ({"wanted": "mean of scores", "scores": ()}, "scores is .* given for wanted = 'mean of"),
        (
            {"wanted": "mean of scores", "levels": (replace(ENDS, importance=2.0), MIDDLE)},
            "importance is .* left out for 'mean of scores'",
        ),
        (
            {"levels": (replace(ENDS, importance=0.0), replace(MIDDLE, importance=0.0))},
            "importance is 0.0 but must be above 0 for one of 3 answers",
        ),
        (
            {"kind": "categorical", "mechanism": "", "order": (), "scores": (), "wanted": "counts"},
            "wanted is 'counts' but must be left out for 'categorical'",
        ),
        ({"kind": "categorical", "mechanism": ""}, "order is .* left out for 'categorical'"),
        ({"kind": "categorical", "mechanism": "", "order": ()}, "scores is .* left out for"),
        ({"padding_length": 2}, "padding_length is 2"),
    ],
)
def test_what_does_not_fit_is_refused(changes, reason):
    with pytest.raises(InputError, match=reason):
        replace(QUESTION, **changes)
