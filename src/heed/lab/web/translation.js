// The translation as a field to type into, and as words with their alternatives.

import { shown } from "heed/data.js";
import { clamp, el, onArrows, replace, word } from "heed/dom.js";
import { paired, words } from "heed/pairs.js";
import { bar, number, percent } from "heed/parts.js";
import { change, state } from "heed/state.js";

// `onChange` is called when what the translation must begin with has changed: state.begin (text) or state.ids.
export function translationPart(onChange) {
  const field = el("textarea", {
    id: "translation",
    rows: 1,
    dir: "auto",
    spellcheck: "false",
    autocomplete: "off",
    "data-key": "translation",
    "aria-describedby": "translation-help",
  });
  const chips = el("div", { class: "strip chips", role: "group", "aria-label": "words of the translation" });
  const panel = el("div", { class: "panel alternatives", hidden: true });
  const clear = el("button", { type: "button", class: "small", id: "free", "data-key": "free" }, "let the model begin");
  const trained = el("p", { class: "trained" });
  let it = null;
  let open = -1;
  let isTyping = false;

  const force = (values) => {
    change({ begin: "", ids: "", ...values }, true);
    onChange();
  };
  const typed = () => {
    isTyping = true;
    force({ begin: field.value.slice(0, field.selectionStart) });
  };
  field.addEventListener("input", (event) => {
    if (!event.isComposing) typed();
  });
  field.addEventListener("compositionend", typed);
  field.addEventListener("blur", () => (isTyping = false));
  clear.addEventListener("click", () => {
    isTyping = false;
    force({});
    field.focus();
  });

  const close = () => {
    open = -1;
    panel.hidden = true;
    for (const one of chips.children) one.setAttribute("aria-expanded", "false");
  };
  const show = (w) => {
    open = w;
    const step = it.target.words[w][0];
    const { pieces, ids, logits, log_partition } = it.next_words[step];
    const own = it.target.ids[step];
    [...chips.children].forEach((one, i) => one.setAttribute("aria-expanded", String(i === w)));
    panel.hidden = false;
    const before = it.target.ids.slice(0, step);
    replace(
      panel,
      el(
        "p",
        {},
        "The most probable pieces in the place of ",
        word(it.target.labels[step], { class: "key" }),
        ". Choose one: the rest is decoded anew from there.",
      ),
      el(
        "ul",
        { class: "next" },
        pieces.map((piece, k) => {
          const logP = logits[k] - log_partition;
          const isEnd = piece === "</s>";
          return el(
            "li",
            {},
            el(
              "button",
              {
                type: "button",
                class: "small",
                "aria-pressed": String(ids[k] === own),
                disabled: isEnd || ids[k] === own,
                "data-piece": piece,
                "data-key": `next-${k}`,
                on: {
                  click: () => {
                    isTyping = false;
                    close();
                    force({ ids: [...before, ids[k]].join(".") });
                  },
                },
              },
              word(isEnd ? "</s>" : shown(piece)),
            ),
            bar(Math.exp(logP)),
            el("span", { class: "soft" }, percent(Math.exp(logP))),
          );
        }),
      ),
      el("button", { type: "button", class: "small", "data-key": "close", on: { click: () => leave(w) } }, "close"),
    );
  };
  const leave = (w) => {
    close();
    chips.children[w]?.focus();
  };
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave(open);
  });
  onArrows(chips, (down, right, event) => {
    const at = [...chips.children].indexOf(event.target.closest("button"));
    if (at < 0 || down) return false;
    chips.children[clamp(at + right, 0, chips.children.length - 1)].focus();
  });

  const node = el(
    "div",
    { class: "translation" },
    el("label", { class: "tag", for: "translation" }, "translation"),
    el(
      "div",
      { class: "grow" },
      field,
      el(
        "p",
        { id: "translation-help", class: "status" },
        "Type over it: what stands before the cursor is forced, the rest is decoded anew. Or choose a word below. ",
        clear,
      ),
      chips,
      panel,
      trained,
    ),
  );
  return {
    node,
    show(inspection) {
      it = inspection;
      const { text } = it.translation;
      if (isTyping && document.activeElement === field) {
        const at = Math.min(state.begin.length, text.length);
        field.value = text;
        field.setSelectionRange(at, at);
      } else field.value = text;
      clear.hidden = !(state.begin || state.ids);
      const focused = document.activeElement?.dataset?.key;
      replace(
        chips,
        it.target.words.slice(0, -1).map((members, w) => {
          const isForced = members[members.length - 1] < it.forced;
          const isPartly = members[0] < it.forced;
          const logP = members.reduce((sum, t) => sum + (it.translation.log_probabilities[t] ?? 0), 0);
          return el(
            "button",
            {
              type: "button",
              class: isForced ? "forced" : isPartly ? "forced partly" : "",
              "aria-expanded": "false",
              tabindex: w === 0 ? 0 : -1,
              title: `log P ${number(logP)}${isPartly ? ", forced" : ""}: alternatives`,
              "data-key": `chip-${w}`,
              on: { click: () => (open === w ? close() : show(w)) },
            },
            word(it.target.word_labels[w], { title: undefined }),
          );
        }),
      );
      panel.hidden = true;
      open = -1;
      if (focused?.startsWith("chip-")) chips.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
      asTrained();
    },
  };

  // What the model writes with everything on, word by word beside what it writes now.
  function asTrained() {
    const { as_trained } = it.lab;
    trained.hidden = !as_trained;
    if (!as_trained) return;
    const both = paired(words(as_trained.text), words(it.translation.text));
    const isSame = both.every((one) => one.a >= 0 && one.b >= 0);
    const pieces = both.flatMap((one, i) => [
      i ? " " : "",
      one.b < 0 ? el("del", {}, word(one.text)) : one.a < 0 ? el("ins", {}, word(one.text)) : word(one.text),
    ]);
    const change = it.translation.log_probability - as_trained.log_probability;
    replace(
      trained,
      el("span", { class: "soft" }, "with everything on: "),
      isSame ? "the same translation" : pieces,
      el(
        "span",
        { class: "soft" },
        ` · log P ${number(as_trained.log_probability)} → ${number(it.translation.log_probability)}`,
        ` (${change < 0 ? "" : "+"}${number(change)})`,
      ),
    );
  }
}
