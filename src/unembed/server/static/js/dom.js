// The few DOM helpers that everything uses.
export const $ = (id) => document.getElementById(id);

/** An element with properties and children; text children are text, never markup. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const checked = (name) => document.querySelector(`input[name="${name}"]:checked`)?.value;

export function check(name, value) {
  const input = document.querySelector(`input[name="${name}"][value="${CSS.escape(value)}"]`);
  if (input) input.checked = true;
}

export const percent = (share) => `${Math.round(100 * share)} %`;
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
