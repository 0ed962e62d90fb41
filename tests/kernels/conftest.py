import pytest


@pytest.fixture(autouse=True)
def kernels_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In what these tests start, even if all tests are run without kernels."""
    monkeypatch.delenv("HEED_KERNELS", raising=False)
