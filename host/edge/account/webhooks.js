// The customer's webhooks: made, tried out, given another secret, switched off and removed. A secret is shown once.
import { ask, chip, element, moment, nothing, read, say, table } from "./api.js";

const EVENTS = ["task.completed", "task.failed", "task.cancelled", "balance.low", "quota.reached"];
const target = document.getElementById("webhooks");
const shown = element("div", { role: "status" });
const list = element("div");
const sent = element("div");

export async function webhooks() {
  target.replaceChildren(shown, list, sent, form());
  await refresh();
}

async function refresh() {
  const { data } = await read("/v1/webhooks");
  const names = ["Address", "Events", "Status", "Made", "Actions"];
  list.replaceChildren(data.length ? table("Your webhooks", names, data.map(line)) : nothing("Nothing is posted anywhere."));
}

function line(webhook) {
  const state = webhook.enabled ? (webhook.failing_since ? "failing" : "enabled") : "disabled";
  const why = webhook.disabled_reason ?? webhook.last_attempt?.problem;
  const path = `/v1/webhooks/${webhook.id}`;
  const button = (word, action) =>
    element("button", { type: "button", "aria-label": `${word}: ${webhook.url}`, click: () => act(action) }, word);
  return [
    element("div", {}, element("code", {}, webhook.url), webhook.description && element("p", { class: "note" }, webhook.description)),
    webhook.events.length ? webhook.events.join(", ") : "all",
    element("div", {}, chip(state), why ? element("p", { class: "note" }, why) : ""),
    moment(webhook.created),
    element("div", { class: "buttons" },
      button("Test", async () => {
        await change("POST", `${path}/test`);
        say("A test event is on its way.");
      }),
      button("Deliveries", () => deliveries(webhook, path)),
      button("New secret", async () => secret(await change("POST", `${path}/rotate`))),
      button(webhook.enabled ? "Disable" : "Enable", async () => {
        await change("POST", path, { enabled: !webhook.enabled });
        await refresh();
      }),
      button("Remove", async () => {
        if (!confirm(`Remove ${webhook.url}? What waits for it is never sent.`)) return;
        await change("DELETE", path);
        await refresh();
        say("The webhook was removed.");
      })),
  ];
}

async function deliveries(webhook, path) {
  const { data } = await read(`${path}/deliveries?limit=20`);
  const rows = data.map((one) => {
    const last = one.attempts.at(-1);
    const why = one.reason ?? last?.problem;
    return [
      moment(one.created),
      one.event,
      one.task ? element("code", {}, one.task) : "",
      element("div", {}, chip(one.status), why ? element("p", { class: "note" }, why) : ""),
      String(one.attempts.length),
    ];
  });
  const title = element("h3", {}, `Last deliveries to ${webhook.url}`);
  const names = ["When", "Event", "Task", "Status", "Attempts"];
  sent.replaceChildren(title, rows.length ? table("Deliveries", names, rows) : nothing("Nothing was sent yet."));
  title.tabIndex = -1;
  title.focus();
}

function form() {
  const event = (name) =>
    element("label", { class: "check" }, element("input", { type: "checkbox", name: "events", value: name }), name);
  const made = element("form", { class: "stack" },
    element("h3", {}, "Another webhook"),
    element("div", { class: "field" },
      element("label", { for: "hook-url" }, "Address"),
      element("p", { class: "help", id: "hook-help" }, "Public, https."),
      element("input", { id: "hook-url", type: "text", inputmode: "url", required: true, "aria-describedby": "hook-help", autocomplete: "off" })),
    element("fieldset", { class: "events" }, element("legend", {}, "Events; none chosen: all"), ...EVENTS.map(event)),
    element("button", { class: "primary" }, "Create webhook"));
  made.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    const events = new FormData(made).getAll("events");
    act(async () => {
      secret(await change("POST", "/v1/webhooks", { url: made.querySelector("#hook-url").value.trim(), events }));
      made.reset();
      await refresh();
    });
  });
  return made;
}

// A request that is sent again by a browser or a proxy changes nothing more. (`randomUUID` is not there over plain http.)
async function change(method, path, body) {
  const token = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return (await ask(method, path, body, { "idempotency-key": token })).data;
}

function secret(webhook) {
  shown.replaceChildren(
    element("div", { class: "panel" },
      element("h3", {}, "The secret, shown this one time"),
      element("p", {}, element("code", { class: "secret" }, webhook.secret)),
      element("button", { type: "button", click: () => shown.replaceChildren() }, "I have stored it")));
}

function act(action) {
  action().catch((error) => document.dispatchEvent(new CustomEvent("refused", { detail: error })));
}
