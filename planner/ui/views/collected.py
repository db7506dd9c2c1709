"""Results: parameters and report files in, the page of the result out; nothing is kept."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from planner.deployment.collecting.collector import collect
from planner.deployment.collecting.estimating import estimates_table
from planner.deployment.collecting.places import REPORT_SUFFIXES
from planner.deployment.parameters import Parameters, read_parameters
from planner.show.blocks import Block
from planner.show.html import page_of
from planner.show.results import files_blocks, result_blocks
from planner.ui import render

_CONFIDENCE = 0.95
_NO_GROUP = "everybody together"


def page() -> None:
    """Take the files, count them, and show what they say."""
    render.header(
        "Results",
        "What a collection says: its parameter file and its reports in, the result out. Files are "
        "counted on this machine and not kept.",
    )
    given = st.file_uploader("Parameter file", "json", key="c-parameters")
    reports = st.file_uploader(
        "Report files",
        [one[1:] for one in REPORT_SUFFIXES],
        accept_multiple_files=True,
        key="c-reports",
    )
    if given is None or not reports:
        return
    with render.complaint(), TemporaryDirectory() as folder:
        params = Path(folder, "params.json")
        params.write_bytes(given.getvalue())
        parameters = read_parameters(params)
        places = [Path(folder, f"{k}{Path(one.name).suffix}") for k, one in enumerate(reports)]
        for place, one in zip(places, reports, strict=True):
            place.write_bytes(one.getvalue())
        blocks = _counted(parameters, places)
        render.render(blocks)
        title = f"{parameters.survey}: result"
        st.download_button(
            "Download as a page", page_of(title, blocks), "result.html", on_click="ignore"
        )


def _counted(parameters: Parameters, places: list[Path]) -> list[Block]:
    done = collect(parameters, places)
    if not done.sums:
        return [*files_blocks(done)]
    names = list(parameters.groups)
    by = st.selectbox("By", [_NO_GROUP, *names], key="c-by") if names else _NO_GROUP
    parts = None if by == _NO_GROUP else (by, done.by(parameters.groups, by))
    table = estimates_table(parameters, done.sums, _CONFIDENCE, by=parts)
    return result_blocks(parameters, done, table, _CONFIDENCE)
