"""Plans as charts and pages, for the app, the command line and notebooks alike."""
