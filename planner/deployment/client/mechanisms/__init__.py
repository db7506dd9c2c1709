"""The mechanisms as a device knows them, one file each: shape, law, exact check, drawing."""
