"""What is collected: a survey of questions, read from TOML and written back."""
