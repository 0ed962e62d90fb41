"""Fixtures shared with the tests of the command and of exports."""

from tests.cli.conftest import corpus, train_arguments, train_run
from tests.export.conftest import learnt

__all__ = ["corpus", "learnt", "train_arguments", "train_run"]  # fixtures
