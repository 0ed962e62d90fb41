"""What `heed demo` trains on: an English-German corpus made by a grammar."""
