// Where the masks dissolve, or ever nearer texts appear: one line of tokens, its readout, and a slider through
// its steps.
import { make, still } from "./dom.js";

const WHOLE = 2200; // milliseconds that a dissolve takes at most
const SHORT_WAIT = 0.1; // seconds in the queue that are not worth a word

export class Stage {
  constructor(title) {
    this.tokens = make("div", { className: "tokens", dir: "auto", "aria-hidden": "true" });
    this.readout = make("div", { className: "readout" });
    this.slider = make("input", { type: "range", min: 0, value: 0, "aria-label": `Step, ${title}` });
    this.scrub = make("div", { className: "scrub", hidden: true }, this.slider);
    this.element = make("div", { className: "stage" }, make("h3", {}, title), this.tokens, this.readout, this.scrub);
    this.frames = new Map(); // length -> the frames of that candidate
    this.nearer = []; // a guided search's nearest texts, each with its cosine
    this.story = [];
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value), true));
  }

  hear(name, data) {
    if (name === "queued") this.say([["In the queue, ahead of you", data.position]]);
    else if (name === "started") this.say([["Reading the vector", ""]]);
    else if (name === "step") {
      if (data.step === 0) this.frames.set(data.length, []);
      this.frames.get(data.length)?.push(data.pieces);
      if (!this.tokens.childElementCount) this.draw(data.pieces);
      this.say([["Trying length", data.length], ["step", `${data.step} of ${data.steps}`]]);
    } else if (name === "search") this.search(data);
  }

  /** A round of a guided search: the nearest text so far. */
  search(data) {
    if (this.nearer.at(-1)?.text !== data.text) {
      this.nearer.push(data);
      this.draw(data.pieces);
    }
    this.say([
      ["round", data.round],
      ["encoder calls", `${data.encoder_calls} of at most ${data.max_encoder_calls}`],
      ["cosine", data.cosine.toFixed(4)],
    ]);
  }

  /** Play the story of the result, or show its end at once. */
  async finish(result, work, { quick = false, signal } = {}) {
    const told = this.frames.get(result.pieces.length) ?? [...this.frames.values()][0] ?? [];
    this.story = [...told.filter((pieces) => pieces.some((piece) => piece.text === null)), result.pieces];
    this.facts = [["passes", result.forward_passes], ["time", `${work.seconds.toFixed(2)} s`]];
    if (work.waited >= SHORT_WAIT) this.facts.push(["waited", `${work.waited.toFixed(2)} s`]);
    if (this.nearer.length) {
      // They were shown as they were found: the slider walks back, nothing is played again.
      const same = this.nearer.at(-1).text === result.text;
      this.nearer = [...(same ? this.nearer.slice(0, -1) : this.nearer), { ...this.nearer.at(-1), pieces: result.pieces }];
      this.story = this.nearer.map((one) => one.pieces);
      this.facts.unshift(["encoder calls", result.encoder_calls]);
      quick = true;
    }
    if (work.batch > 1) this.facts.push(["shared with", `${work.batch - 1} others`]);
    this.slider.max = this.story.length - 1;
    if (!quick && !still()) {
      const pause = Math.max(70, Math.min(260, WHOLE / this.story.length));
      for (let step = 0; step < this.story.length - 1 && !signal?.aborted; step += 1) {
        this.show(step);
        await new Promise((done) => setTimeout(done, pause));
      }
    }
    if (signal?.aborted) return;
    this.show(this.story.length - 1);
    this.scrub.hidden = this.story.length < 2;
  }

  show(step, byHand = false) {
    this.draw(this.story[step], byHand);
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step} of ${this.story.length - 1}`);
    const cosine = this.nearer[step]?.cosine;
    const name = cosine === undefined ? "step" : "nearer text";
    this.say([[name, `${step} of ${this.story.length - 1}`], ...(cosine === undefined ? [] : [["cosine", cosine.toFixed(4)]]), ...this.facts]);
  }

  draw(pieces) {
    const old = [...this.tokens.children];
    pieces.forEach((piece, index) => {
      const text = linked(pieces, index);
      const key = `${text}|${piece.joined}|${piece.confidence}`;
      if (old[index]?.dataset.key === key) return;
      const token = text === null ? mask(index) : word({ ...piece, text });
      token.dataset.key = key;
      if (old[index]) old[index].replaceWith(token);
      else this.tokens.append(token);
    });
    old.slice(pieces.length).forEach((token) => token.remove());
  }

  say(facts) {
    this.readout.replaceChildren(...facts.map(([name, value]) => make("span", {}, `${name} `, make("b", {}, String(value)))));
  }
}

const CURSIVE = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}]/u;
const LINK = "\u200d"; // zero width joiner: a letter at a box's edge keeps the shape that it has within its word

/** A piece's text. In a script whose letters join, pieces of one word are linked: each stands in a box of its own. */
function linked(pieces, index) {
  const { text, joined } = pieces[index];
  if (text === null) return null;
  const next = pieces[index + 1];
  const before = joined && CURSIVE.test(text[0]) && CURSIVE.test(pieces[index - 1]?.text?.at(-1) ?? "");
  const after = next?.joined && CURSIVE.test(text.at(-1)) && CURSIVE.test(next.text?.[0] ?? "");
  return `${before ? LINK : ""}${text}${after ? LINK : ""}`;
}

function mask(index) {
  const token = make("span", { className: "tok mask" });
  token.style.setProperty("--i", index);
  return token;
}

function word(piece) {
  if (piece.confidence === null) return make("span", { className: piece.joined ? "tok plain joined" : "tok plain" }, piece.text);
  const sure = piece.confidence;
  const token = make("span", { className: piece.joined ? "tok joined" : "tok", title: `${Math.round(100 * sure)} % sure` }, piece.text);
  token.style.setProperty("--tint", tint(sure));
  return token;
}

/** Between the theme's two confidence colours; half of the scale belongs to the upper fifth. */
function tint(sure) {
  const style = getComputedStyle(document.documentElement);
  const [low, high] = ["--low", "--high"].map((name) => style.getPropertyValue(name).trim().split(/[\s%]+/).filter(Boolean).map(Number));
  const part = sure ** 1.5;
  const mix = low.map((a, i) => a + (high[i] - a) * part);
  return `${mix[0].toFixed(0)} ${mix[1].toFixed(0)}% ${mix[2].toFixed(0)}%`;
}
