"""Run the `heed` command as `python -m heed`."""

import sys

from heed.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
