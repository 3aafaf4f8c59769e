// Which words of two texts agree, in order: the longest common subsequence.
const WORD = /[\u3040-\u30ff\u3400-\u9fff]|[\p{L}\p{N}]+(?:['’]\p{L}+)?|[^\s]/gu;

/** Both texts in runs of `{ text, same }`. Case does not count; most encoders never see it. */
export function compare(original, recovered) {
  const a = [...original.matchAll(WORD)];
  const b = [...recovered.matchAll(WORD)];
  const key = (match) => match[0].toLocaleLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  const [left, right] = [a.map(key), b.map(key)];
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      table[i][j] = left[i] === right[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const [inA, inB] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (left[i] === right[j]) {
      inA.add(i);
      inB.add(j);
      i += 1;
      j += 1;
    } else if (table[i + 1][j] >= table[i][j + 1]) i += 1;
    else j += 1;
  }
  return [runs(original, a, inA), runs(recovered, b, inB)];
}

function runs(text, words, same) {
  const out = [];
  let end = 0;
  words.forEach((match, index) => {
    if (match.index > end) out.push({ text: text.slice(end, match.index), same: true });
    out.push({ text: match[0], same: same.has(index) });
    end = match.index + match[0].length;
  });
  if (end < text.length) out.push({ text: text.slice(end), same: true });
  return out;
}
