"""The page in a real browser: what it shows is what was computed, and it can be used by mouse and keyboard."""

import re
from pathlib import Path

import numpy as np
import pytest

from heed.decode.penalty import length_penalty
from heed.inside.document import document
from heed.inside.inspection import Inspection
from heed.inside.page import page
from heed.inside.words import shown
from heed.text.tokenizer import Tokenizer
from tests.inside.conftest import Open, small_translator

VIEWS = ["attention", "beam", "walk", "heads", "occlusion", "layers"]


def numbers(text: str) -> list[float]:
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+(?:\.\d+)?(?:e[−+-]?\d+)?", text)]


# --- all views ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_fits_its_width(open_page: Open, one: Inspection, width: int, dark: bool) -> None:
    tab = open_page(one, width=width, dark=dark)
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(numbers(background)[:3]) < 200) == dark
    for view in VIEWS:
        tab.click(f"#tab-{view}")
        assert tab.get_attribute(f"#tab-{view}", "aria-selected") == "true"
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
        assert len(tab.inner_text("main")) > 100, view


def test_sentences_and_model_are_named(open_page: Open, one: Inspection) -> None:
    header = open_page(one).inner_text("header")
    for text in (one.source.text, one.translation.text, "2 + 2 layers", "d_ff 40", "a small model"):
        assert text in header


def test_the_link_holds_what_is_seen(open_page: Open, one: Inspection) -> None:
    tab = open_page(one)
    tab.click("[data-head='decoder.1.0']")
    tab.check("input[value=table]")
    title = tab.inner_text(".open h2")
    assert title.startswith("decoder, layer 2 of 2, head 1")
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    assert tab.inner_text(".open h2") == title
    assert tab.is_checked("input[value=table]")
    tab.evaluate("location.hash = 'view=layers'")
    tab.wait_for_selector("#tab-layers[aria-selected=true]")
    assert "after layer 2" in tab.inner_text("main")


@pytest.mark.parametrize(
    "broken", ["view=nonsense", "layer=99&head=-3&kind=x", "view=walk&stage=x&i=999&j=-1&wlayer=7"]
)
def test_a_broken_link_shows_something(open_page: Open, one: Inspection, broken: str) -> None:
    assert len(open_page(one, broken).inner_text("main")) > 100


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("view", VIEWS)
def test_every_control_is_reached_by_tab_and_is_seen_to_be(
    open_page: Open, one: Inspection, view: str, width: int
) -> None:
    tab = open_page(one, f"view={view}", width=width)
    focusable = "main :is(button, input, select, [tabindex]):not([tabindex='-1']):not(:disabled)"
    # Of radio buttons, the chosen one stands for the group.
    expected = tab.evaluate(
        f"[...document.querySelectorAll({focusable!r})]"
        ".filter((one) => one.offsetParent !== null || one.ownerSVGElement)"
        ".filter((one) => one.type !== 'radio' || one.checked).length"
    )
    tab.evaluate("window.reached = new Set(); 0")
    for _ in range(expected + 12):
        tab.keyboard.press("Tab")
        outline = tab.evaluate(
            """() => {
              const node = document.activeElement;
              if (!node.closest("main")) return "outside";
              window.reached.add(node);
              const style = getComputedStyle(node);
              const rect = node.querySelector(":scope > rect");
              return rect ? getComputedStyle(rect).strokeWidth : `${style.outlineStyle} ${style.outlineWidth}`;
            }"""
        )
        assert outline == "outside" or outline == "4px" or outline.startswith("solid"), outline
    assert tab.evaluate("window.reached.size") >= expected


# --- attention -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_table_shows_the_weights(open_page: Open, one: Inspection, kind: str) -> None:
    tab = open_page(one, f"kind={kind}&layer=1&head=1&mode=table&merged=0")
    shown = tab.eval_on_selector_all(".heat tbody tr", "rows => rows.map(r => [...r.cells].slice(1).map(c => c.title))")
    found = np.array([[numbers(title.rsplit(":", 1)[1])[0] for title in row] for row in shown])
    np.testing.assert_allclose(found, one.attention[kind][1, 1], atol=1e-6)
    columns = tab.eval_on_selector_all(".heat thead th:not(.corner)", "all => all.map(one => one.textContent)")
    assert columns == (one.target.input_labels if kind == "decoder" else one.source.labels)


def test_thumbnails_are_pictures_of_the_weights(open_page: Open, one: Inspection) -> None:
    """Darker where there is more weight, pixel by pixel."""
    tab = open_page(one)
    pixels = tab.eval_on_selector(
        "[data-head='encoder.0.1'] canvas",
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((_, i) => i % 4 === 0)",
    )
    weights = one.attention["encoder"][0, 1]
    red = np.array(pixels).reshape(weights.shape)
    order = np.argsort(weights, axis=None)
    assert np.all(np.diff(red.ravel()[order]) <= 0)
    assert tab.locator(".thumb").count() == 3 * 2 * 2


def test_arrow_keys_go_from_head_to_head(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "kind=encoder&layer=0&head=0")
    tab.focus("[data-head='encoder.0.0']")
    for key, head in (("ArrowRight", "0.1"), ("ArrowDown", "1.1"), ("ArrowLeft", "1.0"), ("ArrowUp", "0.0")):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.head") == f"encoder.{head}"
        layer, number = (int(n) + 1 for n in head.split("."))
        assert tab.inner_text(".open h2").startswith(f"encoder, layer {layer} of 2, head {number}")


def test_a_word_can_be_followed_by_mouse_and_keyboard(open_page: Open, tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer).inspect("the foxes jumped lazily over")
    groups = found.source.words
    assert {len(group) for group in groups} > {1}  # words of several pieces
    weights = found.attention["encoder"][0, 1]
    merged = np.array([[weights[np.ix_(a, b)].sum(1).mean() for b in groups] for a in groups])
    tab = open_page(found, "kind=encoder&layer=0&head=1&merged=1")
    tab.hover(".left .item:nth-child(2)")
    shown = tab.eval_on_selector_all(".right .shares i", "all => all.map(one => one.title)")
    np.testing.assert_allclose([numbers(one)[1] for one in shown], merged[1], atol=6e-4)
    assert "attends to" in tab.inner_text(".status")
    tab.focus(".left .item")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    shown = tab.eval_on_selector_all(".left .shares i", "all => all.map(one => one.title)")
    np.testing.assert_allclose([numbers(one)[1] for one in shown], merged[:, 1], atol=6e-4)
    assert "is attended to by" in tab.inner_text(".status")
    assert "column=column" in tab.url and "word=1" in tab.url
    tab.keyboard.press("Escape")
    assert "Point at a word" in tab.inner_text(".status")


def test_heads_lie_over_each_other_and_words_fall_into_pieces(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "kind=cross&layer=1&head=0")
    tab.click(".heads button")
    assert tab.inner_text(".open h2").endswith("heads 1, 2")
    tab.hover(".left .item")
    assert tab.locator(".right .item:first-child .shares i").count() == 2
    n_words = tab.locator(".left .item").count()
    tab.get_by_label("whole words").uncheck()
    assert tab.locator(".left .item").count() == len(one.target.pieces) > n_words == len(one.target.words)


def test_coverage_is_the_sum_over_all_steps(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "kind=cross&layer=1&head=1&merged=0")
    shown = tab.eval_on_selector_all(".coverage li", "all => all.map(one => one.lastChild.textContent)")
    np.testing.assert_allclose([numbers(one)[0] for one in shown], one.attention["cross"][1, 1].sum(0), atol=6e-3)


# --- beam -----------------------------------------------------------------------------------------------------------


def test_the_tree_shows_what_was_kept_and_on_request_what_was_dropped(open_page: Open, one: Inspection) -> None:
    nodes = one.beam.nodes
    tab = open_page(one, "view=beam")
    tree = tab.locator(".chart").first
    assert tree.locator(".node").count() == sum(node.fate in ("kept", "finished") for node in nodes)
    tab.get_by_label("show what was dropped").check()
    tree = tab.locator(".chart").first
    assert tree.locator(".node").count() == len(nodes)
    dropped = next(i for i, node in enumerate(nodes) if node.fate.startswith("pruned") and node.parent >= 0)
    tree.locator(f"[data-node='{dropped}']").click()
    panel = tab.inner_text(".panel")
    assert "not among the best 3" in panel
    node = nodes[dropped]
    said = numbers(tab.inner_text(".panel .sum"))
    assert any(abs(value - node.log_probability) < 6e-4 for value in said)
    assert any(abs(value - length_penalty(node.step, 0.6)) < 6e-4 for value in said)
    tree.locator(f"[data-node='{node.parent}']").focus()
    tab.keyboard.press("ArrowRight")
    focused = int(tab.evaluate("document.activeElement.dataset.node"))
    assert nodes[focused].parent == node.parent


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_the_slider_ranks_what_was_finished(open_page: Open, one: Inspection, alpha: float) -> None:
    """As the search would with this α over the same hypotheses."""
    finished = [node for node in one.beam.nodes if node.fate == "finished"]
    assert len(finished) > 1
    expected = sorted((node.log_probability / length_penalty(node.step, alpha) for node in finished), reverse=True)
    tab = open_page(one, "view=beam")
    tab.eval_on_selector("#alpha", f"node => {{ node.value = {alpha}; node.dispatchEvent(new Event('input')); }}")
    shown = tab.eval_on_selector_all("#finished tbody tr", "rows => rows.map(row => row.cells[5].textContent)")
    np.testing.assert_allclose([numbers(one)[0] for one in shown], expected, atol=6e-4)
    assert "only re-ranks" in tab.inner_text("main") and "does not search again" in tab.inner_text("main")
    assert f"alpha={alpha:g}" in tab.url


def test_the_next_word_is_the_most_probable_and_shares_sum_to_one(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "view=beam")
    for t, label in enumerate(one.target.labels):
        tab.locator(".strip button").nth(t).click()
        rows = tab.eval_on_selector_all(
            "#next tr", "rows => rows.map(row => [...row.cells].map(one => one.textContent))"
        )
        first = shown(one.piece(int(one.walk["logits"][t].argmax())))
        assert rows[0][0] == first
        assert sum(numbers(row[2])[0] for row in rows) == pytest.approx(100, abs=2.5)
        marked = tab.eval_on_selector_all("#next tr.best", "rows => rows.map(row => row.cells[0].textContent)")
        assert marked in ([label], [])


# --- walk -----------------------------------------------------------------------------------------------------------


def test_every_sum_of_the_walk_adds_up(open_page: Open, inspection: Inspection) -> None:
    """Stage by stage: the terms written on the page add up to the total beside them, and that is the model's number."""
    tab = open_page(inspection, "view=walk&stage=encoder.pieces&wlayer=1&whead=1&i=1&j=3")
    n_sums, stages = 0, []
    while True:
        stages.append(tab.inner_text("#stage-title"))
        for total in tab.query_selector_all(".total"):
            exact = float(total.get_attribute("data-total"))
            own = total.query_selector("[data-model]")
            if own is not None:
                model = float(own.get_attribute("data-model"))
                assert exact == pytest.approx(model, abs=0.01 + 0.01 * abs(model)), stages[-1]
        terms = tab.eval_on_selector_all(".terms li", "all => all.map(one => one.textContent)")
        products = [numbers(text) for text in terms if "×" in text]
        if products:
            sums = sum(one[0] * one[1] for one in products)
            text = tab.inner_text(".total")
            rest = numbers(tab.inner_text(".rest").split("add up to")[1])[0] if tab.query_selector(".rest") else 0.0
            # With a bias: "= 1.2 + (0.3) = 1.5".
            assert sums + rest == pytest.approx(numbers(text)[0], abs=0.003), (stages[-1], text)
            for a, b, product in products:
                assert a * b == pytest.approx(product, abs=3e-4)
            n_sums += 1
        if tab.is_disabled("[data-key=next]"):
            break
        tab.click("[data-key=next]")
    assert n_sums == 3 * 7 + 2 * 2 + 1  # three attentions, two feed-forward networks, the logits
    for title in ("mask", "softmax", "÷ √d_k", "concatenation", "what goes from the encoder to the decoder", "logits"):
        assert title in stages


@pytest.mark.parametrize("stage, name", [("encoder.self.q", "q"), ("decoder.cross.k", "k"), ("decoder.self.v", "v")])
def test_a_cell_that_is_pointed_at_lights_its_row_and_column(
    open_page: Open, inspection: Inspection, stage: str, name: str
) -> None:
    stack, sublayer, _ = stage.split(".")
    made = inspection.walk[f"{stack}.1.{sublayer}.{name}"][1]
    tab = open_page(inspection, f"view=walk&stage={stage}&wlayer=1&whead=1")
    cells = tab.locator(".result .cells")
    box = cells.bounding_box()
    assert box is not None
    i, j = 2, made.shape[1] - 2
    tab.mouse.move(box["x"] + (j + 0.5) * box["width"] / made.shape[1], box["y"] + (i + 0.5) * 17)
    value = float(tab.get_attribute(".where output", "data-value"))
    assert value == pytest.approx(float(made[i, j]), abs=2e-3)
    lit = tab.eval_on_selector_all(
        ".matrix:not(.result) .light",
        "all => all.map(one => [one.style.display, one.style.top, one.style.left, one.style.height])",
    )
    shown = [one[1:] for one in lit if one[0] == "block"]
    assert shown[0][0] == f"{i * 17}px"  # the row of the left matrix
    assert float(shown[1][1].rstrip("%")) == pytest.approx(100 * j / made.shape[1], abs=0.01)  # the column of W
    cells.focus()
    tab.keyboard.press("ArrowDown")
    value = float(tab.get_attribute(".where output", "data-value"))
    assert value == pytest.approx(float(made[i + 1, j]), abs=2e-3)
    assert f"i={i + 1}" in tab.url and f"j={j}" in tab.url


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What goes from the encoder to the decoder?", "that is all that goes from the encoder to the decoder"),
        ("What is the decoder's output?", "a probability for every piece of the vocabulary"),
        ("Why the mask?", "would read the very word it must predict"),
        ("What is each head looking at?", "the stronger its colour, the more is taken from there"),
    ],
)
def test_the_four_questions_are_answered(open_page: Open, one: Inspection, question: str, answer: str) -> None:
    tab = open_page(one, "view=walk")
    tab.click(f"text={question}")
    assert answer in tab.inner_text("main")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_walk_says_what_a_head_looks_at(open_page: Open, one: Inspection, kind: str) -> None:
    where = {"encoder": "encoder.self", "decoder": "decoder.self", "cross": "decoder.cross"}[kind]
    tab = open_page(one, f"view=walk&stage={where}.softmax&wlayer=1&whead=1&i=2")
    weights = one.attention[kind][1, 1, 2]
    columns = one.target.input_labels if kind == "decoder" else one.source.labels
    best = int(weights.argmax())
    assert f"” looks at “{columns[best]}” {weights[best]:.2f}" in tab.inner_text(".provenance")
    # The columns are named, and the one that is pointed at stands out.
    assert tab.locator(".result .below .word").all_inner_texts() == columns
    tab.focus(".result .cells")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text(".result .below .key") == columns[1]
    assert "Measured on 30 pairs of text, this head " in tab.inner_text(".about")


@pytest.mark.parametrize("overlay", ["", "0.1"])
def test_lines_are_drawn_where_there_is_weight(open_page: Open, tokenizer: Tokenizer, overlay: str) -> None:
    """Also when they are many, and thin: where they end, there is most ink at the word that gets most attention."""
    for text in ("the quick fox", "the quick brown fox jumps over the lazy dog " * 3):
        inspected = small_translator(tokenizer).inspect(text)
        tab = open_page(inspected, f"view=attention&kind=encoder&layer=0&merged=0&overlay={overlay}")
        tab.wait_for_function("document.querySelector('.bipartite canvas').width > 0 && document.fonts.ready")
        weights = inspected.attention["encoder"][0, : 2 if overlay else 1]
        inked = tab.evaluate(
            """() => {
              const canvas = document.querySelector(".bipartite canvas");
              const { data } = canvas.getContext("2d").getImageData(canvas.width - 1, 0, 1, canvas.height);
              const n = document.querySelectorAll(".right .item").length;
              const sums = new Array(n).fill(0);
              for (let y = 0; y < canvas.height; y++) sums[Math.floor((y * n) / canvas.height)] += data[4 * y + 3];
              return sums;
            }"""
        )
        received = weights.mean(0).sum(0)
        assert received[np.argmax(inked)] > 0.9 * received.max()
        assert np.corrcoef(inked, received)[0, 1] > 0.6


def test_the_mask_is_infinite_above_the_diagonal_only(open_page: Open, one: Inspection) -> None:
    for i, j in ((1, 3), (3, 1), (2, 2)):
        tab = open_page(one, f"view=walk&stage=decoder.self.masked&i={i}&j={j}")
        assert (tab.inner_text(".where output") == "−∞") == (j > i)


def test_the_word_is_the_arg_max_or_the_page_says_that_the_beam_took_another(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "view=walk&stage=output.word")
    rows = tab.eval_on_selector_all(
        "#pieces tbody tr", "rows => rows.map(row => [...row.cells].map(one => one.textContent))"
    )
    for t, row in enumerate(rows):
        first = int(one.walk["logits"][t].argmax())
        assert ("the beam took another" in row[3]) == (first != one.target.ids[t])
        assert row[3].startswith(shown(one.piece(first)))


def test_a_page_that_must_be_small_says_what_it_leaves_out(open_page: Open, one: Inspection, tmp_path: Path) -> None:
    path = tmp_path / "small.html"
    small = document(one, limit=510_000)
    path.write_text(page(small), encoding="utf-8")
    columns = small.summary["walk"]["columns"]
    assert 0 < columns["head"] < 7
    tab = open_page(path, "view=walk&stage=encoder.self.q&i=1&j=0")
    assert "the sum of 24 products" in tab.inner_text(".provenance")
    tab = open_page(path, "view=walk&stage=encoder.self.q&i=1&j=6")
    assert f"the file holds columns 1 to {columns['head']}" in tab.inner_text(".provenance")
    assert "--limit-mb" in tab.inner_text(".provenance")


# --- heads, occlusion, layers ---------------------------------------------------------------------------------------


def test_heads_off_are_shown_as_computed(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "view=heads")
    for kind in ("encoder", "decoder", "cross"):
        totals = one.heads_off.change[kind].sum(-1)
        for (layer, head), total in np.ndenumerate(totals):
            cell = tab.locator(f"[data-head='{kind}.{layer}.{head}']")
            assert numbers(cell.inner_text())[0] == pytest.approx(float(total), abs=6e-3)
    tab.click("[data-head='cross.1.1']")
    assert tab.inner_text("main").count("encoder-decoder, layer 2, head 2 off") == 1
    shown = tab.eval_on_selector_all(
        "#off tbody tr", "rows => rows.map(row => [...row.cells].map(one => one.textContent))"
    )
    np.testing.assert_allclose([numbers(row[1])[0] for row in shown], one.heads_off.change["cross"][1, 1], atol=6e-4)
    own = one.lens.first_choice[-1]
    for row, chosen, before in zip(shown, one.heads_off.first_choice["cross"][1, 1], own, strict=True):
        assert bool(row[2]) == (chosen != before)
    tab.keyboard.press("ArrowLeft")
    assert "encoder-decoder, layer 2, head 1 off" in tab.inner_text("main")
    assert "Measured on 30 pairs (thirty pairs)" in tab.inner_text("main")


def test_disagreements_of_attention_and_occlusion_are_marked(open_page: Open, one: Inspection) -> None:
    words, others = one.target.words, one.source.words[:-1]
    lost = np.array([[one.occlusion.change[j, word].sum() for j in range(len(others))] for word in words])
    mean = one.attention["cross"].mean((0, 1))
    attended = np.array([[mean[np.ix_(word, other)].sum(1).mean() for other in others] for word in words])
    expected = (lost.argmin(1) != attended.argmax(1)) & (lost.min(1) < -0.1)
    tab = open_page(one, "view=occlusion")
    marked = tab.eval_on_selector_all(
        ".beside section:nth-child(2) tbody th", "all => all.map(one => one.querySelector('.differs') !== null)"
    )
    assert (
        marked == expected.tolist() and any(marked) and f"here {sum(marked)} of {len(marked)}" in tab.inner_text("main")
    )


def test_ranks_by_layer_are_shown_as_computed(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "view=layers")
    shown = tab.eval_on_selector_all(
        ".heat tbody tr", "rows => rows.map(r => [...r.cells].slice(1).map(c => c.querySelector('b').textContent))"
    )
    np.testing.assert_array_equal(np.array(shown, dtype=int), one.lens.rank)


# --- texts of all kinds ---------------------------------------------------------------------------------------------

ODD = "<script>alert(1)</script> <b>fox</b> </script> שלום dog 你好 👩‍🚀 &amp; \"'"


def test_text_is_never_markup(open_page: Open, tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer, max_length=200).inspect(ODD, name="<img src=x onerror=alert(2)>")
    tab = open_page(found)
    tab.on("dialog", lambda dialog: pytest.fail("a script in the text ran"))
    assert ODD in tab.inner_text("header") and "<img src=x onerror=alert(2)>" in tab.inner_text("header")
    for view in VIEWS:
        tab.click(f"#tab-{view}")
        assert tab.locator("#page b:text-is('fox'), #page img, #page script").count() == 0
    tab.click("#tab-attention")
    words = tab.eval_on_selector_all(".right .item .word", "all => all.map(one => one.textContent)")
    assert {"שלום", "你", "好", "👩‍🚀", "<b>fox</b>"} <= set(words)
    directions = tab.eval_on_selector_all(
        ".right .item .word", "all => all.map(one => getComputedStyle(one).direction)"
    )
    assert directions[words.index("שלום")] == "rtl" and directions[words.index("dog")] == "ltr"


@pytest.mark.parametrize("width", [1280, 390])
def test_forty_words_do_not_overlap(open_page: Open, tokenizer: Tokenizer, width: int) -> None:
    found = small_translator(tokenizer).inspect("the quick brown fox jumps over the lazy dog " * 4)
    assert len(found.source.words) >= 37
    overlaps = """(selector) => {
      const nodes = [...document.querySelectorAll(selector)];
      const boxes = nodes.map((one) => one.getBoundingClientRect()).filter((one) => one.width);
      let n = 0;
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
        n += a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      }));
      return [boxes.length, n];
    }"""
    tab = open_page(found, width=width)
    for where, selector in (
        ("view=attention", ".words .item"),
        ("view=attention&mode=table", ".heat thead th .word"),
        ("view=beam", "[aria-label='tree of hypotheses'] .node rect"),
        ("view=walk&stage=encoder.self.softmax", ".result .labels .word"),
        ("view=occlusion", ".beside section:first-child thead th .word"),
        ("view=layers", ".heat thead th .word"),
    ):
        tab.evaluate(f"location.hash = {where!r}")
        tab.wait_for_timeout(100)
        count, bad = tab.evaluate(overlaps, selector)
        assert count > 10 and bad == 0, where


def test_a_table_of_very_many_words_is_a_picture(open_page: Open, tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer, max_length=310).inspect("fox dog " * 60, beam=1)
    tab = open_page(found, "kind=encoder&layer=0&head=1&mode=table&merged=0")
    assert tab.locator("main td").count() == 0
    tab.focus(".open .cells")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        tab.keyboard.press(key)
    said = tab.inner_text(".open .status")
    assert said.startswith("fox → dog: ")
    assert numbers(said)[0] == pytest.approx(float(found.attention["encoder"][0, 1, 2, 1]), abs=1e-3)
    for view in VIEWS:
        tab.click(f"#tab-{view}")
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


def test_pieces_stand_beside_the_text_they_cover(open_page: Open, tokenizer: Tokenizer) -> None:
    """JavaScript counts an emoji as two or more units, Python as one character or more."""
    found = small_translator(tokenizer).inspect("🐈 the 👩‍🚀 quick fox 🇩🇪 dog")
    tab = open_page(found, "view=walk&stage=encoder.pieces")
    texts = tab.eval_on_selector_all("#pieces tbody tr", "rows => rows.map(row => row.cells[1].textContent)")
    assert texts == [found.source.text[begin:end] for begin, end in found.source.offsets]


def test_the_walk_lists_the_next_words_and_what_every_head_sees(open_page: Open, one: Inspection) -> None:
    tab = open_page(one, "view=walk&stage=output.probabilities&i=2")
    said = tab.inner_text(".provenance")
    for piece in one.summary()["next_words"][2]["pieces"][:5]:
        assert f"“{shown(piece)}”" in said
    tab = open_page(one, "view=walk&stage=encoder.self.softmax&wlayer=1&whead=0&i=3")
    weights = one.attention["encoder"][1, 1, 3]
    other = f"2 “{one.source.labels[int(weights.argmax())]}” {weights.max():.2f}"
    assert f"The same word in the other heads: {other}" in tab.inner_text(".provenance")
