"""The app: a router over the pages. ``app.py`` and ``ldp-planner app`` both run this."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from itertools import pairwise

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from planner.survey.survey import settle, survey_text
from planner.ui.address import MOST_IN_ADDRESS, word_of
from planner.ui.document import (
    cleaned,
    new_document,
    stem_of,
)
from planner.ui.opening import opening
from planner.ui.render import CHARTS, SCRIPT, STYLE, plain
from planner.ui.state import INTRODUCED, session

_PRODUCT = "LDP budget planner"
PAGES = {  # the title of each page, and where its function is
    "questions": ("Questions", "questions.page"),
    "plan": ("Plan", "plan.page"),
    "explore": ("Explore", "explore.page"),
    "export": ("Export", "export.page"),
    "trial": ("Try it on data", "trial.page"),
    "collected": ("Results", "beside.results"),
    "meaning": ("What a report says", "beside.meaning"),
    "glossary": ("Words", "beside.glossary"),
}


def main() -> None:
    """Show the page that the address asks for."""
    st.set_page_config(page_title=_PRODUCT, layout="wide", initial_sidebar_state=220)
    # Before anything is drawn, which would show up without its style first.
    st.html(f"<style>{STYLE}</style>")
    here = session()
    pages = list[StreamlitPage]()
    for name, (title, _) in PAGES.items():
        show = partial(show_page, name)
        page = st.Page(show, title=title, url_path=name, default=not pages)
        pages.append(page)
    page = st.navigation(pages)
    # Once more, as navigation alone says which page it is.
    st.set_page_config(page_title=f"{page.title} - {_PRODUCT}")
    # Before the bar, whose widgets have the revision in their keys, too.
    here.enter(page.title)
    bar()
    page.run()
    here.note()  # what was typed in this run is one step of Undo
    _next(pages, page)
    # Last, so that the address and the browser get what this run has taken.
    _keep()


def bar() -> None:
    """The product's name, and what is always possible."""
    here = session()
    # Callbacks have run by now. Their change is a step of its own, and the buttons
    # below must know of it.
    here.note()
    button = partial(st.button, type="tertiary")
    with st.container(key="bar", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{_PRODUCT}**", width="stretch")
        if here.last is not None:
            name = plain(here.last["survey"].get("name", ""))
            take = partial(here.replace, here.last)
            button("Last survey", help=name, on_click=take)
        begin = partial(here.replace, new_document())
        button("New survey", on_click=begin)
        with st.popover("Open", type="tertiary"):
            opening()
        # It runs the page when it is opened: the file's text is made only then.
        saving = st.popover("Save", type="tertiary", key="save", on_change="rerun")
        if saving.open:
            with saving:
                _saving()
        button("Undo", on_click=here.undo, disabled=not here.past)
        button("Redo", on_click=here.redo, disabled=not here.future)


def _saving() -> None:
    """Say that it is saved; copy the address, or download the file."""
    document = session().document
    survey, _ = settle(cleaned(document))
    if len(word_of(document)) > MOST_IN_ADDRESS:
        st.markdown(
            "Too large for an address: download the file to keep or share the survey."
        )
    else:
        st.markdown(
            "The address of this page is the survey: bookmark it, or send it. Ledgers, and samples "
            "of what people accept, are not in it."
        )
        st.button("Copy the address", key="copy")
    label = "Download the file"
    why_not = "Once nothing is missing or wrong."
    if survey is None:
        st.download_button(label, "", "survey.toml", disabled=True, help=why_not)
    else:
        text = survey_text(survey)
        name = f"{stem_of(survey)}.toml"
        st.download_button(label, text, name, on_click="ignore")


def _next(pages: list[StreamlitPage], shown: StreamlitPage) -> None:
    """The way on, in the order in which a survey is made."""
    *in_order, _glossary = pages  # where nothing is made
    for page, following in pairwise(in_order):
        if page.title == shown.title:
            st.page_link(following, label=f"Next: {following.title}")


def _keep() -> None:
    """Give address and browser what is typed now, once that is no example."""
    here = session()
    word = word_of(here.document)
    # An address that begins with an example stays short until something is typed.
    data = {
        "page": here.page,
        "charts": CHARTS,
        "cookie": INTRODUCED if here.introduced else "",
        "longest": MOST_IN_ADDRESS,
        "word": word if word != here.word_at_start else "",
        "steps": here.steps(),
    }
    # The browser's own store can be reached from a script alone, which writes the
    # address as well.
    component = st.components.v2.component("ldp_planner_page", js=SCRIPT)
    component(data=data, key="page", on_pasted_change=_pasted, on_kept_change=_recall)


def _pasted() -> None:
    """Give pasted lines to the table of levels."""
    # Loaded when somebody pastes, as pages are when somebody opens them.
    take_paste = import_module("planner.ui.views.levels").take_paste
    pasted = st.session_state["page"].pasted
    # A browser may send anything in place of text.
    text = str(pasted.get("text"))
    take_paste(session(), text, str(pasted.get("field")))


def _recall() -> None:
    kept = st.session_state["page"].kept
    steps = str(kept.get("steps"))
    session().recall(steps, str(kept.get("last")))


def show_page(name: str) -> None:
    """Show a page, whose module is loaded when it is first opened, so that the first comes fast."""
    module, function = PAGES[name][1].split(".")
    getattr(import_module(f"planner.ui.views.{module}"), function)()


if __name__ == "__main__":
    main()
