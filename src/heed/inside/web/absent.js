// What a model that is not a Transformer does not have, and why.

import { about } from "heed/parts.js";

const REASONS = {
  attention: "has no attention heads, so there are no weights between words to draw.",
  walk: "does not compute the equations of the paper, which the walk follows: no queries, keys and values, no layers of attention and feed-forward.",
  heads: "has no attention heads to switch off.",
  layers: "has no stack of layers that all add to the same vector, so no earlier layer can be read as if it were the last.",
};

// Why a view cannot be shown, or null if it can.
export function absent(it, view) {
  const isThere = view === "attention" ? it.kinds.length > 0 : !(view in REASONS) || it.isTransformer;
  if (isThere) return null;
  return about(
    "",
    `A model of model.kind = "${it.model.kind}" ${REASONS[view]} `,
    it.kinds.length ? "Attention shows what its decoder reads of the source. " : "",
    "Beam shows its search and its next words, Occlusion what each source word is worth to it: both look at the model from outside, so any model has them.",
  );
}
