"""Fixtures shared with the tests of the command and of exports."""

from tests.cli.conftest import cache, corpus, module_cache, train_arguments, train_run
from tests.export.conftest import learnt

__all__ = ["cache", "corpus", "learnt", "module_cache", "train_arguments", "train_run"]  # fixtures
