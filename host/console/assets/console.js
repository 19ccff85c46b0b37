// What every page does: each part is a module of its own. Nothing here decides anything; the pages work without it.
import "./copy.js";
import "./live.js";
import "./shortcuts.js";
import "./times.js";
import "./upload.js";

for (const select of document.querySelectorAll("select[data-submits]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// The form of the playground runs from any of its fields.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.target.closest?.("form")?.querySelector("[data-runs]")?.click();
});

// A page that shows a secret once warns before it is left by anything but its own button.
if (document.querySelector("[data-warns-before-leaving]")) {
  const warn = (event) => event.preventDefault();
  window.addEventListener("beforeunload", warn);
  for (const link of document.querySelectorAll("[data-leaves]")) {
    link.addEventListener("click", () => window.removeEventListener("beforeunload", warn));
  }
}

// The rest of a page loaded from the cache of the browser may be old; a session may have ended since.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

const row = document.querySelector("tr.marked");
if (row) row.scrollIntoView({ block: "nearest" });
const problems = document.querySelector(".problems[autofocus]");
if (problems) problems.focus();
if (!document.querySelector("[data-live]")) document.body.dataset.ready = "";
