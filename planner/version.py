"""The planner's version, its one home: the package's description reads it here."""

VERSION = "0.1.0"
