// The steps of one forward pass, in order: what each is given, what it makes, and where every number came from.

import { Walk } from "heed/numbers.js";
import { attention } from "heed/stages_attention.js";
import { feedForward } from "heed/stages_feedforward.js";
import { beginning } from "heed/stages_input.js";
import { bridge, ending } from "heed/stages_output.js";

// All stages for one layer and head of each stack. A stage has id, group, title, equation, section, text, and make(),
// which returns {matrices, result, explain(i, j)}; explain returns {uses: [light of each matrix], sum: nodes}.
export function stages(it, layer, head) {
  const found = [];
  const isPre = it.model.norm === "pre";
  const walk = new Walk(it, layer, head, isPre);
  const add = (id, group, title, section, equation, text, make) =>
    found.push({ id, group, title, section, equation, text, make });
  for (const stack of ["encoder", "decoder"]) {
    beginning(walk, stack, add);
    attention(walk, stack, "self", add);
    if (stack === "decoder") attention(walk, stack, "cross", add);
    feedForward(walk, stack, add);
    if (stack === "encoder") bridge(walk, add);
  }
  ending(walk, add);
  return found;
}
