"""What the budget page edits: a survey as rows of tables, before it is a survey."""
