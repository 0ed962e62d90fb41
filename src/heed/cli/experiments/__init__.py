"""One file per experiment of `heed paper`, each with HELP, configure and run, as a command has them."""
