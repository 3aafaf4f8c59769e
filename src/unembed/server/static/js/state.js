// What is on the screen, as the part of the address behind the #: browsers never send it to a server.
export const DEFAULTS = {
  source: "text", text: "", vector: "", model: "", strategy: "", versus: "", steps: "", lengths: "", calls: "500",
  noise: "0", precision: "float32", seed: "0",
};

/** The state in the address, and a token if a link brought one. */
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) state[name] = given.get(name);
  return { state, token: given.get("token"), shared: given.has("text") || given.has("vector") };
}

export function writeAddress(state) {
  const said = Object.entries(state).filter(([name, value]) => String(value) !== DEFAULTS[name] && value !== "");
  const hash = new URLSearchParams(said).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

/** Float32 numbers as URL-safe base64. */
export function pack(vector) {
  const raw = new Uint8Array(new Float32Array(vector).buffer);
  let text = "";
  for (const byte of raw) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function unpack(text) {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const numbers = new Float32Array(Uint8Array.from(raw, (letter) => letter.charCodeAt(0)).buffer);
  return Array.from(numbers);
}
