"""Turn text files into batches of ids."""
