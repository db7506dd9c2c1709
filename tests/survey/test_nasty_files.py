"""What TOML allows and no survey means: one sentence, never a traceback."""

import pytest

from planner.errors import FileError
from planner.planning.whole_survey.plan import plan_survey
from planner.survey.file import survey_from_text

SURVEY = """[survey]
name = "s"
users = 1000
{top}
[[question]]
name = "q"
{question}
[[question.level]]
name = "a"
epsilon = {epsilon}
item_count = 2
{tail}
"""
NUMERIC = """[survey]
name = "s"
users = 1000
[[question]]
name = "age"
kind = "numeric"
epsilon = 1.0
lower = 0
upper = {upper}
"""
SETS = 'kind = "item-set"'


def survey(top="", question="", epsilon="1.0", tail=""):
    return SURVEY.format(top=top, question=question, epsilon=epsilon, tail=tail)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (survey("x = " + "[" * 5000 + "]" * 5000), "nested too deeply"),
        (survey("x = " + "{a=" * 3000 + "1" + "}" * 3000), "nested too deeply"),
        (survey() + "[" + ".".join("a" * 5000) + "]", "not a known key"),
        (survey("x = " + "9" * 5000), "5000 digits"),
        (survey(epsilon="0x" + "f" * 5000), "beyond 64 bits"),
        (survey(epsilon="9" * 4000), "beyond 64 bits"),
        (survey('ledger = "a\\u0000b"'), "U\\+0000"),
        (survey(question=SETS, tail='[question.sets]\npilot = "a\\u0000b"'), "U\\+0000"),
        (survey(question=SETS, tail="[question.sets]\nsizes = [1e308, 1e308]"), "1e.100"),
        (survey(tail='[[question.target]]\nlevel = "a"\nerror = 1e-300'), "from 1e-12"),
        (NUMERIC.format(upper="1e-320"), "Measure in another unit"),
        (NUMERIC.format(upper="1e308"), "Measure in another unit"),
    ],
    ids=range(12),
)
def test_one_sentence_for_every_oddity(text, reason):
    with pytest.raises(FileError, match=reason):
        survey_from_text(text)


@pytest.mark.parametrize("upper", ["1e-99", "1e99"])
def test_domains_at_the_edge_of_what_is_allowed_are_planned(upper):
    assert plan_survey(survey_from_text(NUMERIC.format(upper=upper))).questions
