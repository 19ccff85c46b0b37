// The page for customers: login with a key, balance, what the key may do, usage; tasks and webhooks are modules of their own.
import { Refused, credits, element, key, moment, nothing, read, say, table } from "./api.js";
import { show as chart } from "./chart.js";
import { more, tasks } from "./tasks.js";
import { webhooks } from "./webhooks.js";

const part = (id) => document.getElementById(id);
// A year of many models is more than a page shows well.
const MAX_PAGES = 10;
const SHOWN_MODELS = 4;
const DAY = 86400;

function facts(target, pairs) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined);
  target.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function figures(balance) {
  const figure = ([name, value]) => element("div", {}, element("dt", {}, name), element("dd", { class: "num" }, value));
  const left = balance.quota && ["Left of the quota", credits(balance.quota.remaining)];
  const all = [["Available", credits(balance.available)], ["Held", credits(balance.held)], ["Spent", credits(balance.spent)], left];
  part("balance").replaceChildren(...all.filter(Boolean).map(figure));
}

function limits(own, { key: spent }) {
  const rates = (limits) =>
    [["requests_per_minute", "requests a minute"], ["tokens_per_minute", "tokens a minute"], ["concurrency", "at once"]]
      .filter(([name]) => limits[name] !== null)
      .map(([name, words]) => `${limits[name].toLocaleString("en")} ${words}`)
      .join(", ");
  const ofModels = Object.entries(own.model_limits).map(([model, limits]) => `${model}: ${rates(limits)}`);
  facts(part("limits"), [
    ["Name", own.name],
    ["Id", element("code", {}, own.id)],
    ["Quota", spent.quota === null ? "none; the balance counts" : credits(spent.quota)],
    ["Used", credits(spent.used)],
    ["Left", spent.remaining === null ? null : credits(spent.remaining)],
    ["Resets", spent.resets_at],
    ["Models", own.models.length ? own.models.join(", ") : "all"],
    ["From", own.networks.length ? own.networks.join(", ") : "everywhere"],
    ["Rates", rates(own.limits) || "no limit"],
    ["Of models", ofModels.length ? ofModels.join("; ") : null],
    ["Stops working", own.expires === null ? null : moment(own.expires)],
  ]);
}

async function usage() {
  const rows = [];
  let after = "";
  let whole = false;
  for (let page = 0; page < MAX_PAGES && !whole; page++) {
    const found = await read(`/v1/usage?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
    rows.push(...found.data);
    after = found.next;
    whole = !found.has_more;
  }
  const target = part("usage");
  if (!rows.length) return target.replaceChildren(nothing("Nothing was used."));
  const models = sums(rows, (row) => row.model).sort(([, one], [, other]) => other.cost_micro - one.cost_micro);
  const shown = models.slice(0, SHOWN_MODELS).map(([model]) => model);
  const lines = models.map(([model, sum]) =>
    [model, sum.requests, sum.failures, sum.input_tokens + sum.output_tokens].map((cell) => cell.toLocaleString("en")).concat(credits(sum.cost_micro / 1e6)));
  const drawn = byDay(rows, shown, models.length > shown.length);
  const label = "Credits spent by day; the same numbers stand in the table below";
  target.replaceChildren(
    element("figure", {},
      element("div", { id: "chart", class: "chart", role: "img", "aria-label": label }),
      element("details", { class: "recipe" }, element("summary", {}, "The chart as a table"), drawn)),
    table("Usage by model", ["Model", "Requests", "Failures", "Tokens", "Credits"], lines),
  );
  if (!whole) target.append(nothing("There is more than is shown here; GET /v1/usage has all of it."));
  chart(drawn.querySelector("table"));
}

function sums(rows, name) {
  const found = new Map();
  for (const row of rows) {
    const sum = found.get(name(row)) ?? { requests: 0, failures: 0, input_tokens: 0, output_tokens: 0, cost_micro: 0 };
    for (const field of Object.keys(sum)) sum[field] += row[field];
    found.set(name(row), sum);
  }
  return [...found];
}

// The table that the chart is drawn from: a row for each of 30 days, a column for each model that cost most.
function byDay(rows, shown, others) {
  const names = others ? [...shown, "others"] : shown;
  const today = Math.floor(Date.now() / 1000 / DAY);
  const cost = new Map();
  for (const row of rows) {
    const place = `${row.day} ${shown.includes(row.model) ? row.model : "others"}`;
    cost.set(place, (cost.get(place) ?? 0) + row.cost_micro);
  }
  const line = (number) => {
    const day = new Date(number * DAY * 1000).toISOString().slice(0, 10);
    const cells = names.map((name) => cost.get(`${day} ${name}`) ?? 0);
    return element("tr", {},
      element("th", { scope: "row", "data-at": String(number * DAY) }, day),
      ...cells.map((cell) => element("td", { class: "right num", "data-micro": String(cell) }, credits(cell / 1e6))));
  };
  const head = element("tr", {}, element("th", { scope: "col" }, "Day"), ...names.map((name) => element("th", { scope: "col", class: "right" }, name)));
  const days = Array.from({ length: 30 }, (_, at) => line(today - 29 + at));
  const made = element("table", { "data-chart": "chart" }, element("caption", {}, "Credits spent, UTC"), element("thead", {}, head), element("tbody", {}, ...days));
  return element("div", { class: "scroll", role: "region", "aria-label": "Spent by day", tabindex: "0" }, made);
}

async function show() {
  part("entry").hidden = true;
  const [balance, own] = await Promise.all([read("/v1/balance"), read("/v1/key")]);
  figures(balance.data);
  limits(own.data, balance.data);
  part("account").hidden = part("leave").hidden = false;
  await Promise.all([usage(), tasks(), webhooks()]);
}

function enter(problem = "") {
  key.forget();
  part("account").hidden = part("leave").hidden = true;
  part("entry").hidden = false;
  const told = problem && element("div", { class: "problems" }, element("p", {}, problem));
  part("entry-problem").replaceChildren(...(told ? [told] : []));
  part("key").value = "";
  part("key").focus();
}

// A key that does not work leads back to the login; anything else is said where the person is.
function failed(error) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 401 || part("account").hidden) enter(error.message);
  else say(error.message);
}

const run = (action) => action().catch(failed).finally(() => (document.body.dataset.ready = ""));

part("login").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(part("key").value.trim());
  run(show);
});
part("leave").addEventListener("click", () => {
  key.forget();
  location.reload();
});
part("older").addEventListener("click", () => run(more));
document.addEventListener("refused", (event) => failed(event.detail));

if (key.get()) run(show);
else {
  enter();
  document.body.dataset.ready = "";
}
