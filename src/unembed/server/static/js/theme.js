// Light or dark: the system's wish, unless the person has one.
import { $ } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

function apply() {
  const theme = localStorage.getItem("unembed-theme") ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "☀" : "☾";
  document.dispatchEvent(new Event("themechange"));
}

export function startTheme() {
  dark.addEventListener("change", apply);
  $("theme").addEventListener("click", () => {
    localStorage.setItem("unembed-theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  apply();
}
