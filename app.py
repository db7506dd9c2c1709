"""The app: a router over the pages in planner/ui/. Run it with ``make run``."""

from planner.ui.entry import main

main()
