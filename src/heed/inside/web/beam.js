// The search: which candidates each step considered, kept and dropped, and how α ranks what was finished.

import { shown } from "heed/data.js";
import { clamp, el, onArrows, replace, svg, toggle, word } from "heed/dom.js";
import { about, bar, number, percent } from "heed/parts.js";
import { change, state } from "heed/state.js";

const COLUMN = 86;
const ROW = 26;
const LEFT = 34;
const MOST_ALPHA = 2;

export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

// The finished hypotheses, best first, as a search with this α ranks them.
export function ranked(beam, alpha) {
  const isUnfinished = !beam.is_finished;
  const found = [];
  beam.nodes.forEach((node, i) => {
    const isCut = isUnfinished && i === beam.best.at(-1);
    if (node.fate !== "finished" && !isCut) return;
    const penalty = lengthPenalty(node.step, alpha);
    found.push({
      node: i,
      length: node.step,
      logP: node.log_probability,
      penalty,
      score: node.log_probability / penalty,
    });
  });
  return found.sort((a, b) => b.score - a.score);
}

function textOf(it, nodes, i) {
  const pieces = [];
  for (let at = i; at >= 0; at = nodes[at].parent) pieces.push(nodes[at].piece);
  const end = pieces[0] === "</s>" ? 1 : 0;
  const text = pieces.slice(end).reverse().join("").replaceAll("▁", " ").trim();
  // Bytes that spell a character are put together again.
  return text.replace(/(?:<0x[0-9A-F]{2}>)+/g, (run) => {
    const bytes = run.match(/[0-9A-F]{2}(?=>)/g).map((one) => parseInt(one, 16));
    return new TextDecoder().decode(Uint8Array.from(bytes));
  });
}

export function beamView(it) {
  const { beam } = it;
  const { nodes } = beam;
  const winner = new Set(beam.best);
  const chosen = state.node >= 0 && state.node < nodes.length ? state.node : beam.best.at(-1);
  const panel = el("div", { class: "panel", role: "status" });
  const charts = [];
  const pick = (i) => {
    change({ node: i }, true);
    charts.forEach((one) => one.mark(i));
    replace(panel, details(it, i));
  };
  const shownNodes = nodes.map((node) => node.fate === "kept" || node.fate === "finished" || Boolean(state.pruned));
  const box = el(
    "div",
    { class: "beam" },
    about(
      "§6.1",
      `Beam search kept the ${beam.beam} most probable beginnings at every step and dropped the rest. A number is the `,
      "sum of the log-probabilities of all words up to here.",
    ),
    el(
      "div",
      { class: "controls" },
      toggle("show what was dropped", Boolean(state.pruned), (on) => change({ pruned: Number(on) })),
    ),
    el("h2", {}, "Tree"),
    chart(it, treeLayout(nodes, shownNodes, winner), shownNodes, winner, pick, charts, "tree of hypotheses"),
    panel,
    el("h2", {}, "Ranks"),
    about(
      "",
      "Height is the rank among the step's candidates: lines that cross show where one hypothesis overtook another, and the thick line is the translation.",
    ),
    chart(it, rankLayout(nodes, shownNodes), shownNodes, winner, pick, charts, "ranks of hypotheses"),
    finished(it),
    distribution(it),
  );
  charts.forEach((one) => one.mark(chosen));
  replace(panel, details(it, chosen));
  return box;
}

// --- where nodes stand -----------------------------------------------------------------------------------------

// A hypothesis is a row: the steps from where it branched off to where it ended. Rows that do not meet are shared, so
// that the tree stays low.
function treeLayout(nodes, isShown, winner) {
  const children = nodes.map(() => []);
  const roots = [];
  nodes.forEach((node, i) => isShown[i] && (node.parent < 0 ? roots : children[node.parent]).push(i));
  for (const list of [roots, ...children]) list.sort((a, b) => winner.has(b) - winner.has(a) || a - b);
  const y = new Array(nodes.length).fill(0);
  const taken = []; // of each row: stretches of steps
  const waiting = roots.map((i) => [i, -1]).reverse();
  while (waiting.length) {
    const [first, above] = waiting.pop();
    const line = [first];
    while (children[line.at(-1)].length) line.push(children[line.at(-1)][0]);
    const [begin, end] = [nodes[first].step, nodes[line.at(-1)].step];
    let row = above + 1;
    while (taken[row]?.some(([from, to]) => begin <= to && from <= end)) row++;
    (taken[row] ??= []).push([begin, end]);
    for (const i of line) {
      y[i] = row;
      waiting.push(...children[i].slice(1).map((child) => [child, row]));
    }
  }
  return { y, height: Math.max(taken.length, 1), children, roots };
}

function rankLayout(nodes, isShown) {
  const children = nodes.map(() => []);
  const roots = [];
  nodes.forEach((node, i) => (node.parent < 0 ? roots : children[node.parent]).push(i));
  return {
    y: nodes.map((node) => node.rank - 1),
    height: Math.max(...nodes.map((node, i) => (isShown[i] ? node.rank : 1))),
    children,
    roots,
    hasRanks: true,
  };
}

// --- a picture of the nodes --------------------------------------------------------------------------------------

function chart(it, { y, height, children, roots, hasRanks }, isShown, winner, pick, charts, label) {
  const { nodes } = it.beam;
  const steps = nodes.reduce((most, node) => Math.max(most, node.step), 0);
  const place = (i) => [LEFT + (nodes[i].step - 0.5) * COLUMN, (y[i] + 0.5) * ROW + 18];
  const width = LEFT + steps * COLUMN + 10;
  const picture = svg("svg", { width, height: height * ROW + 26, role: "group", "aria-label": label });
  for (let step = 1; step <= steps; step++)
    picture.append(svg("text", { class: "axis", x: LEFT + (step - 0.5) * COLUMN, y: 12 }, step));
  if (hasRanks)
    for (let rank = 1; rank <= height; rank++)
      picture.append(svg("text", { class: "axis", x: 12, y: (rank - 0.5) * ROW + 22 }, rank));
  const edges = svg("g", { fill: "none" });
  picture.append(edges);
  const marks = new Map();
  nodes.forEach((node, i) => {
    if (!isShown[i]) return;
    const [x, top] = place(i);
    const isBest = winner.has(i);
    if (node.parent >= 0) {
      const [px, py] = place(node.parent);
      const d = `M${px + 30},${py} C${px + 46},${py} ${x - 46},${top} ${x - 30},${top}`;
      edges.append(svg("path", { d, class: `edge ${isBest ? "best" : ""} ${fateClass(node.fate)}` }));
    }
    const text = shown(node.piece);
    const letters = [...text];
    const cut = letters.length > 9 ? `${letters.slice(0, 8).join("")}…` : text;
    const one = svg(
      "g",
      {
        class: `node ${isBest ? "best" : ""} ${fateClass(node.fate)}`,
        transform: `translate(${x},${top})`,
        tabindex: -1,
        role: "button",
        "data-node": i,
        "aria-label": `${text}, step ${node.step}, log P ${number(node.log_probability)}, ${node.fate}`,
      },
      svg("title", {}, `${text}: ${number(node.log_probability)} – ${node.fate}`),
      svg("rect", { x: -32, y: -11, width: 64, height: 22, rx: 4 }),
      svg("text", { y: 4, style: { "unicode-bidi": "plaintext" } }, cut),
    );
    one.addEventListener("click", () => pick(i));
    one.addEventListener("focus", () => pick(i));
    picture.append(one);
    marks.set(i, one);
  });
  const box = el("div", { class: "scroll chart" }, picture);
  onArrows(box, (down, right, event) => {
    const own = event.target.closest("[data-node]");
    if (!own) return false;
    const i = Number(own.getAttribute("data-node"));
    let next;
    if (right < 0) next = nodes[i].parent;
    else if (right > 0) next = children[i].find((one) => marks.has(one));
    else {
      const same = [...marks.keys()].filter((one) => nodes[one].step === nodes[i].step).sort((a, b) => y[a] - y[b]);
      next = same[clamp(same.indexOf(i) + down, 0, same.length - 1)];
    }
    if (marks.has(next)) marks.get(next).focus();
  });
  charts.push({
    mark: (i) => {
      for (const [other, one] of marks) {
        one.classList.toggle("chosen", other === i);
        one.setAttribute("tabindex", other === i ? 0 : -1);
      }
      if (!marks.has(i) && roots.length) marks.get(roots.find((one) => marks.has(one)))?.setAttribute("tabindex", 0);
    },
  });
  return box;
}

const fateClass = (fate) => (fate === "kept" ? "kept" : fate === "finished" ? "finished" : "dropped");

function details(it, i) {
  const { nodes, alpha } = it.beam;
  const node = nodes[i];
  const before = node.parent < 0 ? 0 : nodes[node.parent].log_probability;
  const penalty = lengthPenalty(node.step, alpha);
  const last = nodes.at(-1).step;
  const fate =
    node.fate === "kept" && node.step === last
      ? "kept, and alive when the search stopped: no live hypothesis could win any more"
      : node.fate;
  return [
    el(
      "p",
      {},
      word(shown(node.piece), { class: "key" }),
      ` – step ${node.step}, rank ${node.rank} of its step: ${fate}`,
    ),
    el("p", {}, "so far: ", word(textOf(it, nodes, i) || "(nothing)")),
    el(
      "p",
      { class: "sum" },
      `log P = ${number(before)} + (${number(node.log_probability - before)}) = ${number(node.log_probability)};  `,
      `penalty ((5 + ${node.step}) / 6)^${number(alpha, 2)} = ${number(penalty)};  `,
      `score if it ended here = ${number(node.log_probability)} / ${number(penalty)} = ${number(node.log_probability / penalty)}`,
    ),
  ];
}

// --- α -----------------------------------------------------------------------------------------------------------

function finished(it) {
  const { beam } = it;
  const body = el("tbody");
  const says = el("p", { class: "status", role: "status" });
  const value = el("output", {});
  const slider = el("input", { type: "range", min: 0, max: MOST_ALPHA, step: 0.05, id: "alpha", "data-key": "alpha" });
  const show = (alpha) => {
    value.textContent = number(alpha, 2);
    const order = ranked(beam, alpha);
    replace(
      body,
      order.map((one, rank) =>
        el(
          "tr",
          { class: one.node === beam.best.at(-1) ? "best" : "" },
          el("td", {}, rank + 1),
          el("td", { class: "text" }, word(textOf(it, beam.nodes, one.node))),
          el("td", {}, one.length),
          el("td", {}, number(one.logP)),
          el("td", {}, number(one.penalty)),
          el("td", {}, number(one.score)),
        ),
      ),
    );
    const isSame = order[0].node === beam.best.at(-1);
    says.textContent =
      `The search ran with α = ${number(beam.alpha, 2)}. The slider only re-ranks ${order.length === 1 ? "the one hypothesis" : `the ${order.length} hypotheses`} that it ` +
      "finished; it does not search again, and a search with another α may also stop sooner or later. " +
      (isSame ? "The translation comes first." : "With this α, another hypothesis would come first.");
  };
  slider.value = String(state.alpha >= 0 ? state.alpha : beam.alpha);
  slider.addEventListener("input", () => {
    change({ alpha: Number(slider.value) }, true);
    show(Number(slider.value));
  });
  show(Number(slider.value));
  return el(
    "section",
    {},
    el("h2", {}, "Finished, and the length penalty"),
    about(
      "§6.1",
      "Longer sentences have lower probabilities. A hypothesis of n words, the end counted, scores log P / ((5 + n) / 6)^α.",
    ),
    el("div", { class: "slider" }, el("label", { for: "alpha" }, "α = ", value), slider),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "plain", id: "finished" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["", "hypothesis", "n", "log P", "((5+n)/6)^α", "score"].map((text) => el("th", { scope: "col" }, text)),
          ),
        ),
        body,
      ),
    ),
    says,
  );
}

// --- the next word -----------------------------------------------------------------------------------------------

function distribution(it) {
  const step = clamp(state.step, 0, it.next_words.length - 1);
  const list = el("div", { class: "strip", role: "group", "aria-label": "step" });
  it.target.labels.forEach((text, t) => {
    list.append(
      el(
        "button",
        {
          type: "button",
          "aria-pressed": String(t === step),
          tabindex: t === step ? 0 : -1,
          "data-key": t === step ? "step" : undefined,
          on: { click: () => change({ step: t }) },
        },
        word(text),
      ),
    );
  });
  onArrows(list, (down, right) => {
    change({ step: clamp(step + down + right, 0, it.next_words.length - 1) });
  });
  const { pieces, ids, logits, log_partition: partition } = it.next_words[step];
  const shares = logits.map((one) => Math.exp(one - partition));
  const rest = Math.max(0, 1 - shares.reduce((sum, one) => sum + one, 0));
  const body = pieces.map((piece, k) =>
    el(
      "tr",
      { class: ids[k] === it.target.ids[step] ? "best" : "" },
      el("td", { class: "text" }, word(shown(piece))),
      el("td", {}, bar(shares[k])),
      el("td", {}, percent(shares[k])),
      el("td", {}, number(logits[k] - partition)),
    ),
  );
  body.push(
    el(
      "tr",
      {},
      el("td", { class: "text" }, `all ${it.model.vocabulary - pieces.length} others`),
      el("td", {}, bar(rest, "var(--soft)")),
      el("td", {}, percent(rest)),
      el("td", {}),
    ),
  );
  return el(
    "section",
    {},
    el("h2", {}, "The next word"),
    about(
      "§3.4",
      "After every word the decoder gives each piece of the vocabulary a probability. Choose a word of the translation to see what else there was; the piece that was taken is marked.",
    ),
    list,
    el("table", { class: "plain", id: "next" }, el("tbody", {}, body)),
  );
}
