"""The parameter file as a document: parsing, canonical form, one model for each question."""
