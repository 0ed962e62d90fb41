// Why this word and not that: the difference of two log-probabilities, and what each source word adds to it.

import { Refused, why } from "heed/api.js";
import { css, inkOn, signedRgb } from "heed/colour.js";
import { shown } from "heed/data.js";
import { el, replace, word } from "heed/dom.js";
import { about, number, percent } from "heed/parts.js";
import { change, state } from "heed/state.js";

export function whyView(it, ask) {
  const nWords = it.target.words.length - 1;
  if (!nWords) return about("", "The translation is empty: there is no word to ask about.");
  const w = state.wword >= 0 && state.wword < nWords ? state.wword : 0;
  const members = it.target.words[w];
  const step = members[0];
  const own = members.map((t) => it.target.ids[t]);
  const next = it.next_words[step];
  const others = next.ids
    .map((id, k) => ({ id, text: shown(next.pieces[k]), p: Math.exp(next.logits[k] - next.log_partition) }))
    .filter((one) => one.id !== it.target.ids[step] && one.text !== "</s>")
    .slice(0, 6);
  const result = el("div", { id: "why", role: "status" });
  const field = el("input", {
    type: "text",
    id: "that",
    dir: "auto",
    "data-key": "that",
    autocomplete: "off",
    placeholder: others[0]?.text ?? "another word",
  });
  field.value = state.wthat;

  let timer = 0;
  const run = async () => {
    const that = state.wthat.trim() || (state.wid >= 0 ? [state.wid] : others.length ? [others[0].id] : "");
    if (!that.length) return replace(result, about("", "Type another word."));
    try {
      const found = await why({ ...ask(), before: it.target.ids.slice(0, step), this: own, that });
      if (result.isConnected) replace(result, answer(found));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!error.isStale && result.isConnected) replace(result, el("p", { class: "problem" }, error.message));
    }
  };
  field.addEventListener("input", () => {
    change({ wthat: field.value, wid: -1 }, true);
    clearTimeout(timer);
    timer = setTimeout(run, 250);
  });
  run();
  return el(
    "div",
    {},
    about(
      "",
      "Why does the translation say this word and not that one? The model gives both a log-probability after the same beginning. Their difference is attributed to the source words ",
      el("b", {}, "by occlusion"),
      ": each word is left out once, and what the difference loses is that word's part. Parts need not add up: words act together, and leaving one out makes a sentence the model may never have seen.",
    ),
    el("h2", {}, "Why this word"),
    el(
      "div",
      { class: "strip" },
      it.target.words.slice(0, -1).map((_, i) =>
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(i === w),
            "data-key": `why-${i}`,
            on: { click: () => change({ wword: i, wthat: "", wid: -1 }) },
          },
          word(it.target.word_labels[i]),
        ),
      ),
    ),
    el("h2", {}, "and not that"),
    el(
      "div",
      { class: "strip" },
      others.map((one) =>
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(!state.wthat && (state.wid < 0 ? others[0].id : state.wid) === one.id),
            "data-key": `that-${one.id}`,
            title: percent(one.p),
            on: { click: () => change({ wid: one.id, wthat: "" }) },
          },
          word(one.text),
        ),
      ),
      el("label", { class: "select" }, el("span", {}, "or type a word"), field),
    ),
    result,
  );
}

function answer({ this: own, that, difference, words, parts }) {
  const most = Math.max(0.5, ...parts.map(Math.abs));
  const total = parts.reduce((sum, one) => sum + one, 0);
  const spelt = (one) => word(one.labels.join("·"), { class: "key" });
  return el(
    "div",
    {},
    el(
      "p",
      { class: "sum" },
      "log P(",
      spelt(own),
      `) − log P(`,
      spelt(that),
      `) = ${number(own.log_probability)} − (${number(that.log_probability)}) = `,
      el("b", {}, number(difference)),
    ),
    el(
      "table",
      { class: "plain", id: "parts" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "source word"),
          el("th", { scope: "col" }, "its part"),
          el("th", { scope: "col" }, "speaks for"),
        ),
      ),
      el(
        "tbody",
        {},
        words.map((text, j) => {
          const rgb = signedRgb(parts[j] / most);
          const isSmall = Math.abs(parts[j]) < 0.05;
          return el(
            "tr",
            {},
            el("td", { class: "text" }, word(text)),
            el("td", { style: { background: css(rgb), color: inkOn(rgb) } }, number(parts[j], 2)),
            el("td", { class: "text" }, isSmall ? "–" : word(parts[j] > 0 ? own.labels.join("·") : that.labels.join("·"))),
          );
        }),
        el(
          "tr",
          {},
          el("td", { class: "text soft" }, "sum of the parts"),
          el("td", {}, number(total, 2)),
          el("td", { class: "text soft" }, `the difference is ${number(difference, 2)}`),
        ),
      ),
    ),
  );
}
