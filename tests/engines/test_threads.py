"""How many threads translate."""

import os

import pytest

from heed.engines.threads import available_threads


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def written(folder, files: dict[str, str]):
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "1600000 100000\n"}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "250000\n"}, 8),
        ({"cpu.max": "100000"}, 8),
        ({"cpu.max": "100000 0"}, 8),
        ({"cpu.max": "1 2 3"}, 8),
        ({"cpu.max": "ä"}, 8),
        ({"cpu.max/folder": ""}, 8),
        ({}, 8),
    ],
)
def test_a_container_uses_no_more_cores_than_its_quota(tmp_path, files, expected):
    assert available_threads(written(tmp_path, files)) == expected


def test_fewer_cores_than_the_quota(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5}, raising=False)
    assert available_threads(written(tmp_path, {"cpu.max": "300000 100000"})) == 1


def test_a_setting_comes_before_the_quota(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert available_threads(written(tmp_path, {"cpu.max": "100000 100000"})) == 3
