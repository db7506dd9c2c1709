"""The app: a router over the pages in planner/ui/. Run it with ``make run``."""

import streamlit as st

from planner.ui import budgets

st.set_page_config(page_title="LDP budget planner", layout="wide")
st.navigation([st.Page(budgets.page, title="Budgets", url_path="budgets")]).run()
