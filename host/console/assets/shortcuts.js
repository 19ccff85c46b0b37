// Keyboard: search, rows, pages. Nothing that changes anything. Off in fields, with a modifier, and on request.
const OFF = "gatehouse-shortcuts-off";
const list = document.getElementById("shortcuts");
const box = document.getElementById("shortcuts-off");
let after = null;

function rows() {
  return [...document.querySelectorAll("[data-rows] a.row")];
}

function step(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement);
  all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))]?.focus();
}

const keys = {
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => list?.showModal(),
  j: () => step(1),
  k: () => step(-1),
  e: () => document.querySelector("[data-edit]")?.click(),
  n: () => document.querySelector("[data-new]")?.click(),
};

function typing(target) {
  return target.closest?.("input, textarea, select, dialog, [contenteditable]");
}

function off() {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    return false;
  }
}

if (box) {
  box.checked = off();
  box.addEventListener("change", () => localStorage.setItem(OFF, box.checked ? "1" : "0"));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || off()) return;
  if (after === "g") {
    after = null;
    const link = document.querySelector(`nav.side a[data-key="${CSS.escape(event.key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  if (event.key === "g") {
    after = "g";
    setTimeout(() => (after = null), 1500);
    return;
  }
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
