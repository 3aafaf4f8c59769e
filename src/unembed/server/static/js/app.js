// The page: from a sentence to its vector, and from the vector back.
import * as api from "./api.js";
import { $, check, checked, make, percent } from "./dom.js";
import { example } from "./examples.js";
import { clearProblem, showProblem } from "./problem.js";
import { exposure, outcome } from "./result.js";
import { Stage } from "./stage.js";
import { pack, readAddress, unpack, writeAddress } from "./state.js";
import { drawStrip } from "./strip.js";
import { startTheme } from "./theme.js";
import { bytes, cosine, fromNpy, fromText, spoil } from "./vector.js";

const AGAIN_AFTER = 180; // milliseconds of rest before a spoiled vector is read again
const now = { text: null, clean: null, vector: null, read: false, tried: new Map(), info: null };
let running = null; // what can still be stopped
let waiting = null;

const settings = () => ({ noise: Number($("noise").value), precision: checked("precision"), seed: 0 });

async function guarded(work) {
  clearProblem();
  try {
    await work();
  } catch (error) {
    showProblem(error);
  }
}

// 1: the sentence, or a vector without one

async function takeText(text) {
  $("encode").disabled = true;
  try {
    const answer = await api.encode({ texts: [text], model: $("model").value || null });
    now.text = text;
    $("veil-text").textContent = text;
    $("text-form").hidden = true;
    $("veil").hidden = false;
    peek(false);
    take(answer.vectors[0], `${answer.encoder}, ${answer.dimension} numbers from ${answer.tokens[0]} tokens`);
  } finally {
    $("encode").disabled = false;
  }
}

function takeVector(vector, name = "a vector without a text") {
  const model = currentModel();
  if (vector.length !== model.dimension)
    throw new Error(`This vector has ${vector.length} numbers; the model reads ${model.dimension}, as ${model.encoder} makes them.`);
  now.text = null;
  take(vector, `${name}, ${vector.length} numbers`);
}

function take(vector, note) {
  stop();
  Object.assign(now, { clean: vector, read: false, tried: new Map() });
  $("vector-note").textContent = note;
  for (const id of ["vector-panel", "invert-panel"]) $(id).hidden = false;
  $("result-panel").hidden = true;
  $("stages").replaceChildren();
  $("confidence-legend").hidden = true;
  respoil();
  $("invert").focus({ preventScroll: true });
}

function peek(shown) {
  $("veil-text").classList.toggle("shown", shown);
  $("veil-text").setAttribute("aria-hidden", String(!shown));
  $("peek").textContent = shown ? "Hide" : "Show";
  $("peek").setAttribute("aria-pressed", String(shown));
}

function showSource() {
  const vector = checked("source") === "vector";
  $("vector-form").hidden = !vector;
  $("text-form").hidden = vector || now.text !== null;
  $("veil").hidden = vector || now.text === null;
}

// 2: the vector, clean or spoiled

function respoil() {
  const how = settings();
  $("noise-out").textContent = percent(how.noise);
  if (!now.clean) return;
  now.vector = spoil(now.clean, how);
  draw();
  const size = bytes(now.clean.length, how.precision);
  const kept = now.vector === now.clean ? "As the encoder made it" : `Cosine to the clean vector ${cosine(now.clean, now.vector).toFixed(3)}`;
  $("spoil-note").textContent = `${kept}, ${size.toLocaleString("en")} bytes.`;
  if (now.read) {
    clearTimeout(waiting);
    waiting = setTimeout(() => guarded(() => invert({ quick: true })), AGAIN_AFTER);
  }
}

function draw() {
  if (!now.vector) return;
  drawStrip($("strip"), now.vector, now.clean);
  $("numbers-text").textContent = now.vector.map((x) => x.toFixed(4).padStart(8)).join(" ");
}

const spoiledName = ({ noise, precision }) =>
  [noise ? `noise ${percent(noise)}` : null, precision === "float32" ? null : precision].filter(Boolean).join(", ") || "clean vector";

// 3 and 4: back to a sentence

function stop() {
  running?.abort();
  clearTimeout(waiting);
}

async function invert({ quick = false } = {}) {
  stop();
  const control = new AbortController();
  running = control;
  const strategies = [$("strategy").value, $("versus").value].filter(Boolean);
  const stages = strategies.map((name) => new Stage(name));
  const how = settings();
  const vector = now.vector;
  if (!quick || $("stages").childElementCount !== stages.length) $("stages").replaceChildren(...stages.map((stage) => stage.element));
  $("stages").classList.toggle("two", stages.length > 1);
  $("confidence-legend").hidden = strategies.every(needsEncoder);
  $("invert").disabled = !quick;
  remember();
  try {
    const answers = await Promise.all(strategies.map((strategy, i) => one(strategy, stages[i], vector, quick, control)));
    if (control.signal.aborted) return;
    if (quick) $("stages").replaceChildren(...stages.map((stage) => stage.element));
    now.read = true;
    const first = answers[0].results[0];
    const titles = strategies.length > 1 ? strategies : [null];
    if (vector !== now.clean) for (const answer of answers) answer.warning = null; // they know: they spoiled it
    $("results").replaceChildren(...answers.map((answer, i) => outcome(titles[i], answer, now.text)));
    if (first.comparison) now.tried.set(spoiledName(how), first.comparison.token_accuracy);
    exposure($("exposure"), now.tried);
    $("result-panel").hidden = false;
    const figure = first.comparison ? ` Token accuracy ${percent(first.comparison.token_accuracy)}.` : "";
    $("live").textContent = `Recovered: ${first.text}.${figure}`;
  } finally {
    if (running === control) $("invert").disabled = false;
  }
}

async function one(strategy, stage, vector, quick, control) {
  const body = {
    vectors: [Array.from(vector)],
    originals: now.text === null ? null : [now.text],
    model: $("model").value || null,
    strategy,
    steps: Number($("steps").value) || null,
    num_lengths: Number($("lengths").value) || null,
    n_best: 4,
    cosine: true,
  };
  if (needsEncoder(strategy)) body.options = { max_encoder_calls: Number($("calls").value) || now.info.limits.max_encoder_calls };
  const answer = await api.invertStream(body, (name, data) => stage.hear(name, data), control.signal);
  await stage.finish(answer.results[0], answer.work, { quick, signal: control.signal });
  return answer;
}

// The link, the controls, the start

function remember() {
  const vector = now.text === null && now.clean ? pack(now.clean) : "";
  writeAddress({
    source: checked("source"), text: now.text ?? "", vector, model: $("model").selectedIndex > 0 ? $("model").value : "",
    strategy: $("strategy").value === now.info.strategies.find((s) => s.name === "confidence")?.name ? "" : $("strategy").value,
    versus: $("versus").value, steps: $("steps").value, lengths: $("lengths").value, calls: $("calls").value,
    noise: String(Number($("noise").value)), precision: checked("precision"),
  });
}

async function copy(button, text) {
  const before = button.textContent;
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1500);
}

const needsEncoder = (name) => now.info.strategies.some((strategy) => strategy.name === name && strategy.needs_encoder);

/** A model without its encoder can be read, but nothing can guide a search. */
function offerStrategies() {
  const { can_encode: encoder } = currentModel();
  const names = now.info.strategies.filter((strategy) => encoder || !strategy.needs_encoder).map((strategy) => strategy.name);
  const option = (value, text = value) => make("option", { value }, text);
  for (const [id, first, otherwise] of [["strategy", [], "confidence"], ["versus", [option("", "nothing")], ""]]) {
    const before = $(id).value;
    $(id).replaceChildren(...first, ...names.map((name) => option(name)));
    $(id).value = names.includes(before) ? before : otherwise;
  }
  describeStrategy();
}

const currentModel = () => now.info.models.find((model) => model.name === $("model").value);

function describeStrategy() {
  const names = [...new Set([$("strategy").value, $("versus").value])].filter(Boolean);
  const lines = names.map((name) => {
    const summary = now.info.strategies.find((strategy) => strategy.name === name)?.summary ?? "";
    return make("span", {}, make("b", {}, name), `: ${summary}`);
  });
  $("strategy-note").replaceChildren(...lines);
  $("calls-field").hidden = !names.some(needsEncoder);
}

async function dropFile(file) {
  if (!file) return;
  const vector = file.name.endsWith(".npy") ? fromNpy(await file.arrayBuffer()) : fromText(await file.text());
  check("source", "vector");
  showSource();
  takeVector(vector, file.name);
}

function listen() {
  const on = (id, event, work) => $(id).addEventListener(event, work);
  on("text-form", "submit", (event) => {
    event.preventDefault();
    const text = $("text").value.trim();
    if (text) guarded(() => takeText(text));
    else $("text").focus();
  });
  on("text", "keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      $("text-form").requestSubmit();
    }
  });
  on("dice", "click", () => {
    $("text").value = example();
    $("text").focus();
  });
  on("peek", "click", () => peek($("peek").getAttribute("aria-pressed") !== "true"));
  on("again", "click", () => {
    now.text = null;
    showSource();
    $("text").select();
    $("text").focus();
  });
  on("vector-form", "submit", (event) => {
    event.preventDefault();
    guarded(() => takeVector(fromText($("vector").value)));
  });
  on("npy", "change", () => guarded(() => dropFile($("npy").files[0])));
  on("noise", "input", respoil);
  on("strategy", "change", describeStrategy);
  on("versus", "change", describeStrategy);
  on("model", "change", offerStrategies);
  on("invert-form", "submit", (event) => {
    event.preventDefault();
    guarded(() => invert());
  });
  on("copy-vector", "click", () => guarded(() => copy($("copy-vector"), JSON.stringify(now.vector))));
  on("copy-link", "click", () => guarded(() => (now.info && remember(), copy($("copy-link"), location.href))));
  for (const input of document.getElementsByName("precision")) input.addEventListener("change", respoil);
  for (const input of document.getElementsByName("source")) input.addEventListener("change", showSource);
  addEventListener("resize", draw);
  addEventListener("hashchange", () => location.hash.includes("=") && location.reload()); // a pasted link
  addEventListener("dragover", (event) => (event.preventDefault(), document.body.classList.add("drop")));
  addEventListener("dragleave", () => document.body.classList.remove("drop"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("drop");
    guarded(() => dropFile(event.dataTransfer.files[0]));
  });
}

async function start() {
  startTheme();
  const { state, token, shared } = readAddress();
  if (token) {
    api.useToken(token);
    writeAddress(state);
  }
  now.info = await api.models();
  const option = (value, text = value) => make("option", { value }, text);
  $("model").replaceChildren(...now.info.models.map((model) => option(model.name, `${model.name} · ${model.encoder}`)));
  $("version").textContent = `unembed ${now.info.version}`;
  $("text").maxLength = now.info.limits.max_text;
  $("calls").max = now.info.limits.max_encoder_calls;
  if (state.model) $("model").value = state.model;
  offerStrategies();
  $("strategy").value = state.strategy || "confidence";
  for (const id of ["versus", "steps", "lengths", "calls", "noise", "text"]) $(id).value = state[id];
  $("calls").value = Math.min(Number(state.calls) || 500, now.info.limits.max_encoder_calls);
  check("precision", state.precision);
  check("source", state.source);
  describeStrategy();
  showSource();
  listen();
  document.documentElement.dataset.ready = "true";
  if (!shared) return;
  if (state.text) await takeText(state.text);
  else takeVector(unpack(state.vector));
  await invert();
}

guarded(start);
