"""Table 1, measured: counts against formulas by hand, path lengths against loops over neighbours."""

import json
import math
import subprocess
import sys

import pytest
import torch

from heed.cli.main import main
from heed.errors import ConfigError
from heed.paper import table1
from heed.paper.fit import crossing, meeting, power, two_powers
from heed.paper.layer_cost import given, kept_bytes, longest_chain, operations, seconds
from heed.paper.layer_types import HEADS, layer_types
from heed.paper.path_length import dependencies, maximum_path_length
from heed.paper.resumable import Rows
from tests.model.reference import nearest

KINDS = {kind.name: kind for kind in layer_types(9, 3)}
N, D = 48, 16


def layer(name, d=D, number=1):
    torch.manual_seed(0)
    return KINDS[name].build(d, number)


# --- fits ---------------------------------------------------------------------------------------------------


def test_a_fit_recovers_known_exponents():
    assert power([(n, 3.5 * n**1.7) for n in (10, 20, 70)]) == pytest.approx((3.5, 1.7))
    points = [(n, d, 0.2 * n**2 * d**1.3) for n in (8, 16, 64) for d in (4, 32)]
    assert two_powers(points) == pytest.approx((2, 1.3))


def test_curves_cross_where_they_are_equal():
    squares, lines = [(n, n**2) for n in (10, 100, 1000)], [(n, 50 * n) for n in (10, 100, 1000)]
    assert crossing(squares, lines) == pytest.approx(50)
    assert meeting(squares, lines) == pytest.approx(50)
    far = [(n, 5e6 * n) for n in (10, 100, 1000)]
    assert crossing(squares, far) is None
    assert meeting(squares, far) == pytest.approx(5e6)
    assert meeting(squares, [(n, 3 * n**2) for n in (10, 100, 1000)]) is None


# --- counts -------------------------------------------------------------------------------------------------

# Multiplications and additions by hand: a product of a × b and b × c takes 2·a·b·c.
COUNTS = {
    "self-attention": lambda n, d: 2 * n * n * d + 2 * n * n * d,  # scores; weights times values
    "- fused kernel": lambda n, d: 4 * n * n * d,
    "- with projections": lambda n, d: 4 * n * n * d + 4 * 2 * n * d * d,
    "recurrent, tanh": lambda n, d: n * 2 * 2 * d * d,  # input and state, one matrix each
    "- LSTM": lambda n, d: n * 4 * 2 * 2 * d * d,  # for each of four gates
    "- GRU": lambda n, d: n * 3 * 2 * 2 * d * d,
    "convolution, k = 3": lambda n, d: n * 3 * 2 * d * d,
    "- dilated": lambda n, d: n * 3 * 2 * d * d,
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(("n", "d"), [(48, 16), (20, 32)])
def test_operations_are_those_counted_by_hand(name, n, d):
    assert operations(layer(name, d), n, d) == COUNTS[name](n, d)


@pytest.mark.parametrize("r", [16, 32])
def test_restricted_attention_takes_less_than_twice_what_its_neighbourhoods_need(r):
    n, kind = 256, layer_types(r, 3)[3]
    needed = sum(len(nearest(i, n, r)) for i in range(n)) * 4 * D
    assert needed <= operations(kind.build(D, 0), n, D) < 2 * needed


def test_the_crossover_with_a_plain_recurrent_layer_is_at_n_equal_to_d():
    for d in (16, 64):
        attention, recurrent = (operations(layer(name, d), d, d) for name in ("self-attention", "recurrent, tanh"))
        assert attention == recurrent


def test_memory_that_is_kept_is_that_of_the_formula():
    x, weights = N * D, HEADS * N * N
    assert kept_bytes(layer("self-attention"), N, D) == pytest.approx(4 * (x + weights), rel=0.35)
    twice = kept_bytes(layer("self-attention"), 2 * N, D)
    assert twice == pytest.approx(4 * kept_bytes(layer("self-attention"), N, D), rel=0.1)
    restricted = [kept_bytes(layer("restricted, r = 9"), n, D) for n in (128, 256, 512)]
    assert restricted[2] - restricted[1] == pytest.approx(2 * (restricted[1] - restricted[0]), rel=0.05)


@pytest.mark.parametrize("name", KINDS)
def test_step_by_step_is_the_same_layer(name):
    made = layer(name)
    torch.testing.assert_close(made(given(N, D)), made.stepwise(given(N, D)), atol=1e-5, rtol=1e-5)
    assert seconds([made], N, D, 1)[0] > 0


# --- sequential operations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_only_recurrent_layers_have_a_chain_that_grows(name):
    chains = [longest_chain(layer(name), n, D) for n in (32, 64, 96)]
    grown = chains[1] - chains[0]
    assert chains[2] - chains[1] == grown
    # Per position, at least a product and a function of it.
    assert grown >= 2 * 32 if KINDS[name].row == "recurrent" else grown == 0


def test_a_chain_is_counted_by_hand():
    class Twice(torch.nn.Module):
        def stepwise(self, x):
            return (x * 2 + (x * 3).exp()).sum()

    # The leaf, x * 3, exp, +, sum.
    assert longest_chain(Twice(), 4, 4) == 5


# --- path lengths -------------------------------------------------------------------------------------------


def hops(n, neighbours):
    """Return in how many steps every position can reach every other, by breadth-first search."""
    longest = 0
    for end in (0, n // 2, n - 1):
        seen, steps = {end}, 0
        while len(seen) < n:
            seen |= {j for i in seen for j in neighbours(i)}
            steps += 1
        longest = max(longest, steps)
    return longest


@pytest.mark.parametrize("n", [10, 27, 64])
def test_path_lengths_are_the_papers(n):
    assert maximum_path_length(KINDS["self-attention"], n) == 1
    assert maximum_path_length(KINDS["- fused kernel"], n) == 1
    for name in ("recurrent, tanh", "- LSTM", "- GRU"):
        assert maximum_path_length(KINDS[name], n) == n
    assert maximum_path_length(KINDS["convolution, k = 3"], n) == math.ceil((n - 1) / 2)  # n/k: k - 1 further a layer
    assert maximum_path_length(KINDS["- dilated"], n) == math.ceil(round(math.log(n, 3), 9))
    expected = hops(n, lambda i: nearest(i, n, 9))
    assert maximum_path_length(KINDS["restricted, r = 9"], n) == expected
    assert n / 9 <= expected <= 2 * n / 9 + 1


@pytest.mark.parametrize("cell", ["recurrent, tanh", "- LSTM", "- GRU"])
def test_as_many_applications_as_positions_are_the_recurrent_layer(cell):
    made = layer(cell)
    x = given(7, D)
    torch.testing.assert_close(made.stacked(x, 7, lambda i: made), made(x), atol=1e-6, rtol=1e-5)
    assert not torch.allclose(made.stacked(x, 6, lambda i: made), made(x), atol=1e-6)


def test_dependencies_of_one_layer_are_its_neighbourhoods():
    outputs, depends = dependencies(KINDS["restricted, r = 9"], 40, 1)
    assert outputs[0] == 0 and outputs[-1] == 39
    for at, row in zip(outputs, depends, strict=True):
        assert row.nonzero().flatten().tolist() == sorted(nearest(at, 40, 9))


# --- the command --------------------------------------------------------------------------------------------


def test_the_command_measures_prints_and_resumes(tmp_path, capsys, monkeypatch):
    options = ["paper", "table1", "--quick", "--widths", "16,32", "--lengths", "16,32", "--rounds", "1"]
    assert main([*options, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "self-attention      n²·d    n^2.00 d^1.00" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "n = d = 32" in (tmp_path / "report.html").read_text(encoding="utf-8")

    monkeypatch.setattr("heed.paper.layer_cost.seconds", None)  # would fail if anything were measured again
    assert main([*options, "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    assert [one["count"][0] for one in found["crossovers"]] == pytest.approx([16, 32])


def test_a_row_cut_short_is_measured_again(tmp_path):
    rows = Rows(tmp_path / "rows.jsonl")
    rows.add("one", {"n": 1})
    with open(tmp_path / "rows.jsonl", "ab") as file:
        file.write(b'{"name": "two", "val')
    again = Rows(tmp_path / "rows.jsonl")
    assert again.get("one") == {"n": 1} and again.get("two") is None
    again.add("two", {"n": 2})
    assert Rows(tmp_path / "rows.jsonl").get("two") == {"n": 2}


def test_what_does_not_fit_into_memory_is_refused_with_the_size_that_does():
    plan = table1.Plan(lengths=(64, 100_000))
    with pytest.raises(ConfigError, match=r"--lengths 100000: .* the longest that fits is ([\d,]+)") as caught:
        table1.check(plan, 4 << 30)
    fits = int(str(caught.value).split()[-1].replace(",", ""))
    table1.check(table1.Plan(lengths=(64, fits)), 4 << 30)
    with pytest.raises(ConfigError):
        table1.check(table1.Plan(lengths=(64, fits + 100)), 4 << 30)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": (64,)}, "--lengths 64: give two or more"),
        ({"widths": (6, 8)}, "--widths 6: must be a multiple of 4"),
        ({"lengths": (0, 8)}, "--lengths 0: must be at least 1"),
        ({"rounds": 0}, "--rounds 0: must be at least 1"),
    ],
)
def test_plans_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        table1.check(table1.Plan(**changes), None)


def test_help_needs_no_torch():
    script = """
import sys
from heed.cli.main import main
try:
    main(["paper", "table1", "--help"])
except SystemExit:
    assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL, timeout=60)
