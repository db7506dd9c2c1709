"""The app's pages, one file a page; they show what planning answers."""
