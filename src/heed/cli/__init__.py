"""The `heed` command line: one file per command, each with HELP, `configure(parser)` and `run(args)`."""
