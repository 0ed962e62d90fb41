// Layer by layer: where the final word stands if the decoder ended after this layer.

import { weightRgb } from "heed/colour.js";
import { el } from "heed/dom.js";
import { about, heatTable, percent } from "heed/parts.js";

export function layersView(it) {
  const rank = it.array("lens.rank");
  const probability = it.array("lens.probability");
  const first = it.array("lens.first_choice");
  const [n] = rank.shape;
  const rows = Array.from({ length: n }, (_, l) => el("span", {}, l === 0 ? "input" : `after layer ${l}`));
  const most = Math.log(it.model.vocabulary);
  const table = heatTable({
    rows,
    columns: it.target.labels,
    label: "rank of the final word, 1 is the most probable, and below it the word that is first here",
    wide: true,
    cell: (i, j) => {
      const place = rank.at(i, j);
      return {
        rgb: weightRgb(0.85 * (1 - Math.log(place) / most)),
        text: [
          el("b", {}, place),
          el("br"),
          el(
            "bdi",
            { dir: "auto", class: "first" },
            place === 1 ? percent(probability.at(i, j)) : it.piece(first.at(i, j)),
          ),
        ],
        title: `${it.target.labels[j]}: rank ${place}, probability ${probability.at(i, j).toExponential(2)}; first: ${it.piece(first.at(i, j))}`,
      };
    },
  });
  return el(
    "div",
    {},
    about(
      "§3.1, §3.4",
      "Every layer adds to the same d_model numbers, so what one layer hands to the next can be put through the output's softmax as if it were the last ",
      "(the “logit lens”). The model was never trained to be read here; the last row alone is what it says. Where a column turns to 1 is where the word was found.",
    ),
    table,
  );
}
