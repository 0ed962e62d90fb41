// Colours that people who see few colours can tell apart: Okabe and Ito's for heads, blue to orange for gain and loss,
// one hue from paper to ink for weights.

const HEADS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d1f", "#7a5195"];
export const headColour = (head) => HEADS[head % HEADS.length];

const mix = (a, b, share) => a.map((one, i) => Math.round(one + (b[i] - one) * share));
const ramp = (stops) => (share) => {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[i], stops[i + 1], at - i);
};

const WEIGHT = {
  light: ramp([
    [255, 255, 255],
    [158, 202, 225],
    [33, 113, 181],
    [8, 38, 90],
  ]),
  dark: ramp([
    [22, 25, 30],
    [21, 68, 116],
    [66, 146, 198],
    [222, 240, 255],
  ]),
};
const SIGNED = {
  light: ramp([
    [180, 70, 0],
    [244, 165, 110],
    [255, 255, 255],
    [120, 180, 230],
    [5, 70, 150],
  ]),
  dark: ramp([
    [255, 150, 70],
    [150, 75, 20],
    [28, 31, 36],
    [25, 85, 145],
    [120, 190, 255],
  ]),
};

// In 256 shades each, looked up: a picture has many numbers.
const SHADES = 256;
const shades = (scale) => Array.from({ length: SHADES }, (_, i) => scale(i / (SHADES - 1)));
const LOOKUP = Object.fromEntries(
  ["light", "dark"].map((name) => [name, { weight: shades(WEIGHT[name]), signed: shades(SIGNED[name]) }]),
);
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => LOOKUP[dark.matches ? "dark" : "light"];
const shade = (list, share) => list[Math.round(Math.min(Math.max(share, 0), 1) * (SHADES - 1))];

// From 0 to 1, as red, green, blue.
export const weightRgb = (weight) => shade(theme().weight, weight);
// Of what may not be attended to.
export const maskedRgb = () => (dark.matches ? [70, 76, 86] : [176, 182, 190]);
// From -1 to 1.
export const signedRgb = (value) => shade(theme().signed, (value + 1) / 2);

export const css = (rgb) => `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`;
// Ink that can be read on a colour.
export const inkOn = (rgb) => (rgb[0] * 0.299 + rgb[1] * 0.587 + rgb[2] * 0.114 > 140 ? "#14171c" : "#ffffff");

// Paints a matrix, one pixel for each number.
export function paint(canvas, n, m, rgb) {
  canvas.width = m;
  canvas.height = n;
  const context = canvas.getContext("2d");
  const image = context.createImageData(m, n);
  const pixels = image.data;
  for (let i = 0, at = 0; i < n; i++) {
    for (let j = 0; j < m; j++, at += 4) {
      const colour = rgb(i, j);
      pixels[at] = colour[0];
      pixels[at + 1] = colour[1];
      pixels[at + 2] = colour[2];
      pixels[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}
