"""Charts, tables, sentences, players and pages: what people look at."""
