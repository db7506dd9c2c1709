"""The pages of the app, one file each; a folder called pages would be served by itself."""
