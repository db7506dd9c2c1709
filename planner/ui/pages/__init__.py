"""The pages of the app, one file a page."""
