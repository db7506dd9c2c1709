"""What a plan says of sets that are cut."""

import numpy as np
import pytest

from planner import AssumedSets, Level, Question, Survey, plan_survey
from planner.planning.whole_survey.sentences import people
from planner.planning.whole_survey.set_sentences import set_sentences

LEVELS = (Level("rare", 1.0, item_count=10), Level("usual", 2.0, item_count=50))
SIZES = [5, 20, 18, 15, 10, 8, 6, 5, 4, 3]


def planned(users=50_000, **more):
    (one,) = plan_survey(
        Survey("s", users, (Question("q", LEVELS, kind="item-set", **more),))
    ).questions
    return one


@pytest.fixture(scope="module")
def best():
    return planned(sets=AssumedSets(SIZES))


def test_what_is_cut_is_said_in_people(best):
    padding, length, cut, uncut, assumed = (
        best.padding,
        best.padding_length,
        *set_sentences(best)[1:],
    )
    share, size = np.array(SIZES) / sum(SIZES), np.arange(len(SIZES))
    lost = share @ np.maximum(0, size - length) / (share @ size)
    assert padding.lost[length - 1] == pytest.approx(lost)
    assert f"Sets of more than {length} items are cut, and {100 * lost:.4g} % of all" in cut
    assert f"{people(padding.truncation_errors[length - 1])} people of the total error" in cut
    most = best.mechanism.longer.largest_bias(50_000)
    least = 50_000 * (share @ np.maximum(0, 1 - length / np.maximum(size, 1)))
    assert least < most < 1.1 * least  # and what 50,000 people may have more by chance
    assert f"each by {people(most)} people at most" in cut
    assert padding.uncut == 9
    assert "padding_length = 9" in uncut
    whole = planned(sets=AssumedSets(SIZES), padding_length=9)
    assert whole.total_error == pytest.approx(best.padding_errors[8], rel=0.01)
    assert f"total error of {people(best.padding_errors[8])} people" in uncut
    low, high = padding.error_limits(length)
    assert f"between {people(low)} and {people(high)} people" in assumed


def test_the_error_is_between_its_limits_whatever_items_are_popular(best):
    length = best.padding_length
    low, high = best.padding.error_limits(length)
    for popularity in ("zipf", "uniform", [1.0] + 59 * [1e-9]):
        plan = planned(sets=AssumedSets(SIZES, popularity), padding_length=length).padding
        error = plan.errors[length - 1]
        assert 0.99 * low <= error <= 1.01 * high  # tables differ a little
        assert plan.best_limits[0] <= plan.length <= plan.best_limits[1]
    assert low < 0.9 * high


def test_a_length_that_cuts_nothing_says_so():
    for length in (9, 12):
        sentences = set_sentences(planned(sets=AssumedSets(SIZES), padding_length=length))
        assert f"No set has more than {length} items: none is cut" in sentences[1]
        assert len(sentences) == 2
    (all_items,) = set_sentences(planned(padding_length=60))
    assert "No set has more than 60 items" in all_items


def test_unknown_sizes_are_said_to_be_unknown():
    (sentence,) = set_sentences(planned(padding_length=3))
    assert "not known" in sentence
    assert "no upper limits. Say what is known of the sizes under [question.sets]" in sentence
    single = Question("page", LEVELS)
    assert set_sentences(plan_survey(Survey("s", 100, (single,))).questions[0]) == []


def test_a_pilot_that_shows_no_longer_sets_is_not_taken_at_its_word(tmp_path):
    from planner.survey.set_model import PilotFile

    rng = np.random.default_rng(1)
    lines = (" ".join(map(str, rng.choice(60, size, replace=False))) for size in [1, 2, 3, 4] * 50)
    (tmp_path / "pilot.dat").write_text("\n".join(lines) + "\n")
    pilot = PilotFile(str(tmp_path / "pilot.dat"))
    sentence = set_sentences(planned(sets=pilot, padding_length=4))[1]
    assert "None of these sets has more than 4 items. Upper limits" in sentence
    assert not any("is assumed" in one for one in set_sentences(planned(sets=pilot)))
