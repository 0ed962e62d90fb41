import pytest
from hypothesis import settings

from heed.text.tokenizer import Tokenizer
from tests.data.corpora import LEARN

# A shared or busy machine is slow at times; how slow is not what these tests are about.
settings.register_profile("heed", deadline=None)
settings.load_profile("heed")


@pytest.fixture(scope="session")
def words() -> Tokenizer:
    """Return a tokenizer with a piece for each of some words."""
    return Tokenizer.learn(LEARN, 400)
