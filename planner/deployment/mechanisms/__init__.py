"""The mechanisms as planner and collector know them, one file each: describe, count, estimate."""
