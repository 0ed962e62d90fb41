import pytest


@pytest.fixture(autouse=True)
def kernels_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the kernels on in the processes that these tests start, even if the suite runs with HEED_KERNELS=off."""
    monkeypatch.delenv("HEED_KERNELS", raising=False)
