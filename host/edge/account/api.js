// Requests to the API with the key of this tab, and elements for what comes back. Texts of others are texts, never markup.
const KEY = "gatehouse-account-key";

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

// What a request was refused with; `status` 401 is a key that does not work.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function ask(method, path, body, headers = {}) {
  const sent = { authorization: `Bearer ${key.get()}`, ...headers };
  if (body !== undefined) sent["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers: sent, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store" });
  } catch {
    throw new Refused(0, "The gateway cannot be reached.");
  }
  const read = await answer.json().catch(() => null);
  if (answer.ok && read) return read;
  throw new Refused(answer.status, read?.error?.message ?? `The gateway answered ${answer.status}.`);
}

export const read = (path) => ask("GET", path);

// An element with attributes and children; a child that is no element is a text.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute === "click") made.addEventListener("click", value);
    else if (value !== undefined && value !== false) made.setAttribute(attribute, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const credits = (amount) => amount.toLocaleString("en", { maximumFractionDigits: 6 });

export const moment = (seconds) => {
  const iso = new Date(seconds * 1000).toISOString();
  return element("time", { datetime: iso }, iso.slice(0, 16).replace("T", " "));
};

const TONES = { completed: "ok", delivered: "ok", failed: "error", cancelled: "warn", pending: "info", processing: "info" };
export const chip = (word) => element("span", { class: `chip ${TONES[word] ?? ""}` }, word);

// A table that is a list of cards on a phone; the cells of a row are texts or elements.
export function table(caption, names, rows) {
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
  const line = (cells) =>
    element("tr", {}, ...cells.map((cell, at) => element("td", { "data-label": names[at] }, cell ?? "")));
  const made = element(
    "table",
    { class: "cards" },
    element("caption", {}, caption),
    element("thead", {}, head),
    element("tbody", {}, ...rows.map(line)),
  );
  return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, made);
}

export const nothing = (text) => element("p", { class: "empty" }, text);

const said = document.getElementById("said");
export const say = (text) => (said.textContent = text);
