"""Look at runs while they go: a page that keeps itself up to date, and a table in a terminal."""
