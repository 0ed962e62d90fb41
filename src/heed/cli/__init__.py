"""The `heed` command: one file per verb, each with HELP, `configure(parser)` and `run(args)`."""
