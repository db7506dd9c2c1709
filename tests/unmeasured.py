"""Tests that coverage does not watch: it makes a test half as slow again, or much more.

Other tests run the same lines, but for a few in a thousand.
"""

from __future__ import annotations

import os

import coverage
import pytest

__all__ = ["UNMEASURED", "measure_for"]

UNMEASURED = (
    "planner/ui/",
    "tests/browser/",
    "tests/deployment/client/laws/test_design.py",
    "tests/deployment/client/test_javascript.py",
    "tests/deployment/client/test_schema.py",
    "tests/deployment/collecting/counting/test_collector.py",
    "tests/deployment/collecting/counting/test_engines.py",
    "tests/deployment/test_designs_on_retail.py",
    "tests/deployment/test_end_to_end.py",
    "tests/deployment/test_made_up_mechanism.py",
    "tests/deployment/test_mutated_files.py",
    "tests/deployment/test_three_readers.py",
    "tests/estimates/test_channel.py",
    "tests/examples/",
    "tests/fuzz/",
    "tests/mechanisms/test_channel_on_adult.py",
    "tests/mechanisms/test_figures_of_bisample.py",
    "tests/mechanisms/test_forced_answer.py",
    "tests/mechanisms/test_padded_design.py",
    "tests/mechanisms/test_subset_design.py",
    "tests/mechanisms/test_unary.py",
    "tests/outsiders/auditing/test_audit.py",
    "tests/planning/allocation/test_plan.py",
    "tests/planning/answer_rate/test_model.py",
    "tests/planning/test_frontier.py",
    "tests/planning/test_padding.py",
    "tests/planning/test_targets.py",
    "tests/planning/whole_survey/test_best.py",
    "tests/planning/whole_survey/test_compare.py",
    "tests/planning/whole_survey/test_deployed.py",
    "tests/planning/whole_survey/test_plan.py",
    "tests/planning/whole_survey/test_promises.py",
    "tests/planning/whole_survey/test_solved_once.py",
    "tests/planning/whole_survey/test_target_answers.py",
    "tests/show/charts/test_plans.py",
    "tests/show/test_report.py",
    "tests/solvers/channel/test_pricing.py",
    "tests/solvers/design/test_bound.py",
    "tests/solvers/design/test_dense.py",
    "tests/solvers/design/test_levels.py",
    "tests/solvers/design/test_reference_values.py",
    "tests/solvers/design/test_windows.py",
    "tests/solvers/test_certificate.py",
    "tests/solvers/test_models.py",
    "tests/solvers/test_properties.py",
    "tests/solvers/test_reduced.py",
    "tests/solvers/test_reference_solvers.py",
    "tests/solvers/test_reproduce.py",
    "tests/solvers/test_self_pairs.py",
    "tests/test_architecture.py",
    "tests/test_docs.py",
    "tests/test_errors_have_remedies.py",
    "tests/test_faces.py",
    "tests/test_public_api.py",
    "tests/test_readme.py",
    "tests/test_site.py",
    "tests/test_wheel.py",
    "tests/trial/test_client_audit.py",
    "tests/trial/test_simulate.py",
    "tests/ui/test_budget_pages.py",
    "tests/ui/test_link.py",
    "tests/ui/test_pages.py",
    "tests/ui/test_trial_page.py",
    "tests/ui/test_warming.py",
    "tests/ui/test_workers.py",
)
_CHILDREN = "COVERAGE_PROCESS_CONFIG"  # by which processes that a test starts are measured
_paused: list[tuple[coverage.Coverage, str | None]] = []


def measure_for(item: pytest.Item) -> None:
    """Let coverage watch this test and the processes that it starts, or nothing of either."""
    wanted = not (item.nodeid.startswith(UNMEASURED) or item.get_closest_marker("unmeasured"))
    if wanted and _paused:
        measuring, children = _paused.pop()
        measuring.start()
        if children is not None:
            os.environ[_CHILDREN] = children
    elif not wanted and (running := coverage.Coverage.current()):
        running.stop()
        _paused.append((running, os.environ.pop(_CHILDREN, None)))
