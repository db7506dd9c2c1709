import json

import numpy as np
import pytest

from planner import InputError, Numeric, Survey, plan_survey
from planner.deployment.parameter_file.building import deployable_files, survey_parameters
from planner.planning.channels import least_favourable
from planner.show.plan import design_sentence, objective_sentence, spending_sentence
from planner.survey.file import survey_text
from tests.cli.running import invoke


def survey(epsilon, design, asked=None):
    about = {"epsilon": epsilon, "mechanism": "bisample-md"}
    questions = tuple(Numeric(f"mean {j}", 0, 100, **about) for j in range(5))
    return Survey("means", 10_000, questions, design, asked=asked)


def test_several_attributes_are_sampled():
    """d/k times the error of BiSample-MD at eps/k per person is that of k of d attributes."""
    plan = plan_survey(survey(6.0, "some-each"))
    errors = [5 / k * least_favourable("bisample-md", 6 / k) for k in (1, 2, 3, 4)]
    assert plan.asked == 1 + int(np.argmin(errors)) == 2
    assert plan.objective_value == pytest.approx(5 * min(errors))
    for one in plan.questions:
        assert (one.share, one.fraction, one.users) == pytest.approx((1 / 2, 2 / 5, 4_000))
        assert one.mechanism.epsilon == pytest.approx(3.0)
        assert one.error == pytest.approx(min(errors))
    assert plan.most_spent == pytest.approx(6.0)
    assert design_sentence(plan).endswith("This plan does so.")
    assert "2 of 5 questions" in design_sentence(plan)
    assert (
        "A person answers 2 of 5 questions and spends epsilon 6.0000 at most"
        in spending_sentence(plan)
    )
    assert "if everybody answers 2 of 5 questions." in objective_sentence(plan)


def test_the_number_asked_may_be_given():
    plan = plan_survey(survey(6.0, "some-each", 3))
    assert (plan.asked, plan.allocation.best_each.asked) == (3, 2)
    assert "This plan asks everybody 3 of 5 questions all the same" in design_sentence(plan)
    assert plan.questions[0].mechanism.epsilon == pytest.approx(2.0)
    one = plan_survey(survey(6.0, "one-each"))
    assert one.asked == 1
    assert 'the better design is "some-each"' in design_sentence(one)


def test_every_question_has_a_file_of_its_own():
    plan = plan_survey(survey(6.0, "some-each", 2))
    with pytest.raises(InputError, match=r"design is .some-each. .* the files of theirs"):
        survey_parameters(plan)
    files = deployable_files(plan)
    assert [one.questions[0].asked.epsilon for one in files.values()] == pytest.approx([3.0] * 5)


def test_terminal_and_page_say_how_many(tmp_path):
    path = tmp_path / "means.toml"
    path.write_text(survey_text(survey(6.0, "some-each", 2)))
    result = invoke("plan", path, "--details")
    assert "asked 2 of 5" in result.stdout, result.output
    document = json.loads(invoke("plan", path, "--json").stdout)
    found = document["survey"]["allocation"]
    assert [found[name]["asked"] for name in ("some_each", "best_each")] == [2, 2]
