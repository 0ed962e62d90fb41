"""Make the corpus of `heed demo`: English-German sentences from a grammar."""
