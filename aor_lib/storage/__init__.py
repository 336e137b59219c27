"""Files that are whole or not there, the user's cache, fetched weights, worker processes."""
