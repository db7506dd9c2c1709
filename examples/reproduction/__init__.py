"""What the scripts that reproduce the papers share: claims, tables, charts, pages, experiments."""
