// Vectors: how they are spoiled, compared, and read from what people paste and drop.

/** A small seeded generator (mulberry32), so that a link shows the same noise everywhere. */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export const norm = (vector) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));

export function cosine(a, b) {
  const dot = a.reduce((sum, x, i) => sum + x * b[i], 0);
  return dot / (norm(a) * norm(b) || 1);
}

/** Noise whose length is `share` of the vector's, then fewer bits; the length is kept as it was. */
export function spoil(vector, { noise, precision, seed }) {
  if (!noise && precision === "float32") return vector;
  const length = norm(vector);
  let out = vector;
  if (noise) {
    const draw = randomNumbers(seed + 1);
    const bell = vector.map(() => Math.sqrt(-2 * Math.log(draw() + 1e-12)) * Math.cos(2 * Math.PI * draw()));
    const scale = (noise * length) / (norm(bell) || 1);
    out = out.map((x, i) => x + scale * bell[i]);
  }
  if (precision === "int8") {
    const step = Math.max(...out.map(Math.abs)) / 127 || 1;
    out = out.map((x) => Math.round(x / step) * step);
  } else if (precision === "binary") {
    out = out.map((x) => (x < 0 ? -1 : 1));
  }
  const scale = length / (norm(out) || 1);
  return out.map((x) => Math.fround(x * scale));
}

export const bytes = (dimension, precision) =>
  precision === "binary" ? Math.ceil(dimension / 8) : precision === "int8" ? dimension : 4 * dimension;

/** Numbers out of what was pasted: a list, a list of lists (the first), or an object that holds one. */
export function fromText(text) {
  let value;
  try {
    value = JSON.parse(text.trim().replace(/^[^[{]*(?=\[)/, ""));
  } catch {
    throw new Error("This is not JSON: a vector looks like [0.01, -0.02, …].");
  }
  if (value && !Array.isArray(value)) value = value.vector ?? value.embedding ?? value.data?.[0]?.embedding;
  if (Array.isArray(value?.[0])) value = value[0];
  if (!Array.isArray(value) || !value.length) throw new Error("There is no list of numbers in it.");
  if (!value.every((x) => typeof x === "number" && Number.isFinite(x)))
    throw new Error("Something in the list is not a number.");
  return value;
}

const KINDS = { f2: [2, half], f4: [4, "getFloat32"], f8: [8, "getFloat64"], i1: [1, "getInt8"], u1: [1, "getUint8"] };

function half(view, offset, little) {
  const bits = view.getUint16(offset, little);
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? NaN : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The first vector of a .npy file: `[D]` or `[N, D]`, floats or bytes, either byte order. */
export function fromNpy(buffer) {
  const view = new DataView(buffer);
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, Math.min(6, buffer.byteLength)));
  if (magic !== "\x93NUMPY") throw new Error("This file is not an .npy file.");
  const wide = view.getUint8(6) > 1;
  const start = wide ? 12 : 10;
  const size = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, start, size));
  const [, order, kind] = header.match(/'descr':\s*'([<>|=])(\w+)'/) ?? [];
  const shape = (header.match(/'shape':\s*\(([^)]*)\)/)?.[1] ?? "").split(",").filter((s) => s.trim()).map(Number);
  if (!KINDS[kind]) throw new Error("The .npy file does not hold plain numbers of a kind that is known here.");
  if (shape.length < 1 || shape.length > 2) throw new Error("The .npy file must hold a vector or a table of vectors.");
  if (shape.length === 2 && /'fortran_order':\s*True/.test(header) && shape[0] > 1)
    throw new Error("The .npy file is in Fortran order; save it with np.ascontiguousarray.");
  const count = shape[shape.length - 1];
  const [width, read] = KINDS[kind];
  const first = start + size;
  if (!count || shape[0] === 0 || first + count * width > buffer.byteLength)
    throw new Error("The .npy file is empty or cut short.");
  const little = order !== ">";
  const one = typeof read === "string" ? (offset) => view[read](offset, little) : (offset) => read(view, offset, little);
  const out = Array.from({ length: count }, (_, i) => one(first + i * width));
  if (!out.every(Number.isFinite)) throw new Error("The vector holds NaN or infinity.");
  return out;
}
