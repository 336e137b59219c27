"""Charts, tables, sentences and players for notebooks and the book."""
