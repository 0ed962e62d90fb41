// Two lists of words side by side: what both have, what only one has.

// The longest common subsequence: [{text, a, b}] in order, where a and b are numbers of words, or -1.
export function paired(a, b) {
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const found = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) found.push({ text: a[i], a: i++, b: j++ });
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1]))
      found.push({ text: a[i], a: i++, b: -1 });
    else found.push({ text: b[j], a: -1, b: j++ });
  }
  return found;
}

export const words = (text) => text.split(/\s+/).filter((one) => one);
