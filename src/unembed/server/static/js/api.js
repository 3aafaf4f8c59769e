// The server: JSON in, JSON or server-sent events out, and errors that say what to do.
let token = sessionStorage.getItem("unembed-token");

export function useToken(value) {
  token = value;
  sessionStorage.setItem("unembed-token", value);
}

export class ApiError extends Error {
  constructor(message, { hint = null, code = "network", retryAfter = null } = {}) {
    super(message);
    Object.assign(this, { hint, code, retryAfter });
  }
}

async function send(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = body ? { method: "POST", body: JSON.stringify(body) } : {};
  let response;
  try {
    response = await fetch(path, { ...options, headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", { hint: "Is `unembed serve` still running?" });
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response) {
  try {
    return problem(await response.json());
  } catch {
    return new ApiError(`The server answered with status ${response.status}.`);
  }
}

const problem = (body) =>
  new ApiError(body.error, { hint: body.hint, code: body.code, retryAfter: body.retry_after });

export const models = async () => (await send("/api/models")).json();
export const encode = async (body) => (await send("/api/encode", body)).json();
export const invert = async (body, signal) => (await send("/api/invert", body, signal)).json();

/** The result of an inversion; `hear(name, data)` is called with every event before it. */
export async function invertStream(body, hear, signal) {
  const response = await send("/api/invert/stream", body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ApiError("The connection ended early.", { hint: "Try again." });
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const found = parse(block);
      if (!found) continue;
      if (found.name === "error") throw problem(found.data);
      if (found.name === "result") return found.data;
      hear(found.name, found.data);
    }
  }
}

function parse(block) {
  let name = null;
  let data = null;
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data = JSON.parse(line.slice(6));
  }
  return name && data ? { name, data } : null;
}
