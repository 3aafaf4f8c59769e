// What came back: both texts with their differences, the figures, the n best, and what spoiling did.
import { make, percent } from "./dom.js";
import { compare } from "./diff.js";

export function outcome(title, answer, original) {
  const [result] = answer.results;
  const [before, after] = original ? compare(original, result.text) : [null, null];
  const figures = [];
  if (result.comparison) {
    const { token_accuracy: accuracy, token_f1: f1, exact } = result.comparison;
    figures.push(["Token accuracy", percent(accuracy), accuracy > 0.8]);
    figures.push(["Words found, in any order", percent(f1), f1 > 0.8]);
    if (exact) figures.push(["Every token", "exact", true]);
  }
  if (result.cosine !== null) figures.push([original ? "Cosine to the original" : "Cosine to the vector", result.cosine.toFixed(3), result.cosine > 0.8]);
  if (result.encoder_calls) figures.push(["Encoder calls", result.encoder_calls.toLocaleString("en"), false]);
  figures.push(["Log-probability", result.score.toFixed(1), false]);
  return make(
    "div",
    { className: "outcome" },
    title ? make("h3", {}, title) : null,
    make(
      "div",
      { className: "sides" },
      original ? side("Original", before, "del") : null,
      side("Recovered", after ?? [{ text: result.text, same: true }], "ins", "recovered"),
    ),
    answer.warning ? make("p", { className: "warn" }, answer.warning) : null,
    make(
      "dl",
      { className: "figures" },
      ...figures.map(([name, value, good]) => make("div", {}, make("dt", {}, name), make("dd", { className: good ? "good" : "" }, value))),
    ),
    nBest(result),
  );
}

function side(title, runs, tag, name = "") {
  const text = make("p", { className: name, dir: "auto" }, ...runs.map((run) => (run.same ? run.text : make(tag, {}, run.text))));
  return make("div", { className: "side" }, make("h4", {}, title), text);
}

function nBest(result) {
  if (!result.alternatives.length) return null;
  const lines = result.alternatives.map((other) => make("li", {}, make("span", { dir: "auto" }, other.text), make("span", { title: "log-probability" }, other.score.toFixed(1))));
  return make("details", { className: "n-best" }, make("summary", {}, `The next best (${lines.length})`), make("ol", { className: "best" }, ...lines));
}

/** How much comes back of the clean vector and of every spoiled one that was tried. */
export function exposure(box, tried) {
  box.hidden = tried.size < 2;
  if (box.hidden) return;
  const bars = [...tried].map(([name, share]) => {
    const fill = make("b");
    fill.style.width = percent(share).replace(" ", "");
    return make("div", { className: "bar" }, make("span", {}, name), make("i", { "aria-hidden": "true" }, fill), make("output", {}, percent(share)));
  });
  box.replaceChildren(make("h3", {}, "How much comes back (token accuracy)"), ...bars);
}
