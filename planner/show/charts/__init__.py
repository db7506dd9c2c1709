"""Charts: plans in, plotly figures out; shared by the app, the report, examples and notebooks."""
