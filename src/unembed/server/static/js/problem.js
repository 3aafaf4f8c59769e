// What went wrong: what it is, what to do, and a field for the token if the server asks for one.
import { $, make } from "./dom.js";
import { useToken } from "./api.js";

export function clearProblem() {
  $("problem").hidden = true;
}

export function showProblem(error) {
  if (error.name === "AbortError") return;
  const box = $("problem");
  const text = make("span", {}, make("b", {}, error.message), error.hint ? ` ${error.hint}` : "");
  if (error.retryAfter) text.append(` Try again in ${error.retryAfter} s.`);
  box.replaceChildren(text);
  if (error.code === "token") box.append(tokenForm());
  else box.append(make("button", { type: "button", className: "quiet", onclick: clearProblem }, "Close"));
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
}

function tokenForm() {
  const field = make("input", { type: "password", "aria-label": "Token", autocomplete: "off" });
  const form = make("form", { className: "row" }, field, make("button", { className: "primary" }, "Use token"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useToken(field.value.trim());
    location.reload();
  });
  return form;
}
