// The customer's tasks, newest first, with what they made. Links are signed; only their paths are used, so that pictures come
// from this very gateway whatever its public name is.
import { chip, credits, element, moment, nothing, read, table } from "./api.js";

const PAGE = 20;
const target = document.getElementById("tasks");
const older = document.getElementById("older");
const rows = [];
let last = null;

export async function tasks() {
  rows.length = 0;
  last = null;
  await more();
}

export async function more() {
  const page = await read(`/v1/tasks?limit=${PAGE}${last ? `&after=${last}` : ""}`);
  rows.push(...page.data);
  last = page.last_id;
  older.hidden = !page.has_more;
  const names = ["Task", "Model", "Status", "Created", "Credits", "Results"];
  target.replaceChildren(rows.length ? table("Tasks, newest first", names, rows.map(line)) : nothing("There are no tasks."));
}

function line(task) {
  return [
    element("code", {}, task.id),
    task.model,
    status(task),
    moment(task.created),
    task.cost === undefined ? "" : credits(task.cost),
    results(task),
  ];
}

function status(task) {
  const why = task.error && element("p", { class: "note" }, task.error.message);
  return element("div", {}, chip(task.status), why ?? "");
}

function results(task) {
  const links = Object.entries(task.result ?? {}).flatMap(([kind, all]) =>
    (Array.isArray(all) ? all : []).flatMap((one) => [one.url].flat().map((url) => ({ kind, url }))));
  const shown = links.filter(({ url }) => typeof url === "string" && URL.canParse(url)).map(({ kind, url }, at) => {
    const { pathname, search } = new URL(url);
    const name = `Result ${at + 1} of task ${task.id}`;
    const inside = kind === "images"
      ? element("img", { src: pathname + search, alt: name, loading: "lazy", width: "96", height: "96" })
      : `${kind} ${at + 1}`;
    return element("a", { href: pathname + search, target: "_blank", rel: "noopener" }, inside);
  });
  return element("div", { class: "pictures" }, ...shown);
}
