"""The app: a router over the pages in planner/ui/. Run it with ``make run``."""

from planner.ui.entry import main

if (
    __name__ == "__main__"
):  # not in the processes of the app's crew, which load this file too
    main()
