// The document: JSON that names arrays, and the arrays' bytes. The page gets it from its own script elements; whoever
// has it from elsewhere hands over the same two things.

const HALVES = (() => {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) table[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return table;
})();

export async function embedded() {
  const summary = JSON.parse(document.getElementById("inspection").textContent);
  const text = atob(document.getElementById("arrays").textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return { summary, bytes: await new Response(stream).arrayBuffer() };
}

export class Inspection {
  constructor({ summary, bytes }) {
    Object.assign(this, summary);
    this.bytes = bytes;
    this.cache = new Map();
  }

  has(name) {
    return name in this.arrays;
  }

  // An array with its shape: {data, shape, at(i, j, ...)}.
  array(name) {
    if (!this.cache.has(name)) {
      const { dtype, shape, at, scale } = this.arrays[name];
      const n = shape.reduce((product, one) => product * one, 1);
      let data;
      if (dtype === "float16") {
        const halves = new Uint16Array(this.bytes, at, n);
        data = new Float32Array(n);
        for (let i = 0; i < n; i++) data[i] = HALVES[halves[i]];
      } else if (scale) data = Float32Array.from(new Uint8Array(this.bytes, at, n), (one) => one * scale);
      else data = new { float32: Float32Array, int32: Int32Array, uint8: Uint8Array }[dtype](this.bytes, at, n);
      this.cache.set(name, new Tensor(data, shape));
    }
    return this.cache.get(name);
  }

  // The kinds of attention that the model has.
  get kinds() {
    return KINDS.filter((kind) => this.has(`attention.${kind}`));
  }

  get isTransformer() {
    return this.has("lens.rank");
  }

  isHeadOff(kind, layer, head) {
    return this.off.heads.some((one) => one[0] === kind && one[1] === layer && one[2] === head);
  }

  isLayerOff(stack, layer) {
    return this.off.layers.some((one) => one[0] === stack && one[1] === layer);
  }

  layers(kind) {
    return this.array(`attention.${kind}`).shape[0];
  }

  // One head's weights as rows × columns.
  head(kind, layer, head) {
    return this.array(`attention.${kind}`).sub(layer, head);
  }

  // Who attends and who is attended to: labels, and the piece numbers that each stands for.
  rows(kind, merged) {
    return sideOf(kind === "encoder" ? this.source : this.target, merged);
  }

  columns(kind, merged) {
    if (kind !== "decoder") return sideOf(this.source, merged);
    const { labels, groups } = sideOf(this.target, merged);
    return {
      labels: ["<s>", ...labels.slice(0, -1)],
      groups: [[0], ...groups.slice(0, -1).map((group) => group.map((one) => one + 1))],
    };
  }

  // The same between words or pieces, computed once.
  grouped(kind, layer, head, merged) {
    const name = `grouped.${kind}.${layer}.${head}.${merged}`;
    if (!this.cache.has(name)) {
      const groups = [this.rows(kind, merged).groups, this.columns(kind, merged).groups];
      this.cache.set(name, byGroups(this.head(kind, layer, head), ...groups));
    }
    return this.cache.get(name);
  }

  role(kind, layer, head) {
    return this.roles ? this.roles.names[kind][layer][head] : "";
  }

  piece(id) {
    return shown(this.pieces[id] ?? `#${id}`);
  }
}

export class Tensor {
  constructor(data, shape) {
    this.data = data;
    this.shape = shape;
  }

  sub(...indices) {
    const shape = this.shape.slice(indices.length);
    const size = shape.reduce((product, one) => product * one, 1);
    let at = 0;
    indices.forEach((index, i) => (at = at * this.shape[i] + index));
    return new Tensor(this.data.subarray(at * size, (at + 1) * size), shape);
  }

  at(...indices) {
    let at = 0;
    for (let i = 0; i < indices.length; i++) at = at * this.shape[i] + indices[i];
    return this.data[at];
  }
}

function sideOf(side, merged) {
  if (merged) return { labels: side.word_labels, groups: side.words };
  return { labels: side.labels, groups: side.labels.map((_, i) => [i]) };
}

// What a word attends to: the mean over its pieces. How much a word is attended to: the sum over its pieces.
export function byGroups(weights, rows, columns) {
  const { data, shape } = weights;
  const out = new Float64Array(rows.length * columns.length);
  let at = 0;
  for (const members of rows) {
    for (const others of columns) {
      let total = 0;
      for (const a of members) for (const b of others) total += data[a * shape[1] + b];
      out[at++] = total / members.length;
    }
  }
  return new Tensor(out, [rows.length, columns.length]);
}

// A piece as people read it: no space mark, a byte by its number.
export function shown(piece) {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
  return byte ? `⟨${byte[1]}⟩` : piece.replaceAll("▁", "") || "␣";
}

export const KINDS = ["encoder", "decoder", "cross"];
export const KIND_NAMES = { encoder: "encoder", decoder: "decoder", cross: "encoder-decoder" };
