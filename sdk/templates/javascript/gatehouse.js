// What a family needs beside its own words: calls and actions, the machine of a polled job, and checks of parameters.
//
// It does what `gatehouse_sdk::job`, `pace` and `params` do in Rust; the scripts in `play/` hold for both. The file belongs to
// the family: change it, or leave out what is not used. Pure as the family is: no clock, no files, no network.

import * as log from "gatehouse:family/log@1.0.0";

// --- Calls, answers and ends ---

// A call that creates something: where its answer is lost, it is not sent again.
export const post = (provider, target, body, more = {}) =>
  call(provider, "POST", target, { body: { tag: "json", val: JSON.stringify(body) }, replay: "once", ...more });

// A call that is harmless to repeat.
export const get = (provider, target, more = {}) => call(provider, "GET", target, { replay: "safe", ...more });

// Any call; its target is a path below the provider's address, or a URL in its origins.
export function call(provider, method, target, more) {
  return {
    provider,
    affinity: undefined,
    method,
    target: { tag: target.startsWith("/") ? "path" : "url", val: target },
    headers: [],
    body: { tag: "none" },
    timeoutMs: 30000,
    replay: "once",
    reading: "whole",
    credentials: true,
    shared: undefined,
    extra: "",
    ...more,
  };
}

// A reply's JSON object; empty where it has none.
export function read(reply) {
  if (reply.body.tag !== "inline") return {};
  try {
    const body = JSON.parse(text(reply.body.val));
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}

export const isSuccess = (reply) => reply.status >= 200 && reply.status < 300;

// A file that the host copies; `media:<n>` in the result is its link.
export const product = (source, mime) => ({ source, mime, edit: undefined, extra: "" });

// The end of a task, and what its client reads.
export function done(body, products = [], { priv = null, settle } = {}) {
  const outcome = { public: JSON.stringify(body), private: JSON.stringify(priv), products, claims: [], settle, extra: "" };
  return { tag: "done", val: outcome };
}

// The end of a task that failed, and what its client reads.
export function failed(message, blame = "upstream") {
  const failure = { blame, message };
  return { tag: "fail", val: { failure, public: undefined, private: undefined, products: [], claims: [], extra: "" } };
}

// The new state, and what the host does next.
export const step = (state, stage, next, progress = 0) => ({
  state: bytes(state),
  stage,
  progress,
  view: undefined,
  next,
  extra: "",
});

// QuickJS has no TextEncoder and no TextDecoder. JSON written with escapes is ASCII.
export function bytes(value) {
  const escape = (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  const ascii = JSON.stringify(value).replace(/[\u0080-\uffff]/g, escape);
  return Uint8Array.from(ascii, (unit) => unit.charCodeAt(0));
}

// Bytes of UTF-8 as text; throws where they are none. A list of texts would take 50 bytes for each of them.
const ESCAPED = Array.from({ length: 256 }, (_, byte) => "%" + byte.toString(16).padStart(2, "0"));
export function text(bytes) {
  let escaped = "";
  for (let at = 0; at < bytes.length; at += 1) escaped += ESCAPED[bytes[at]];
  return decodeURIComponent(escaped);
}

// --- When to poll again ---

// The longest wait that the host takes: a day.
const MAX_WAIT_MS = 86400000;

// The next poll of a job that has run since `since`: after an eighth of that time, between 2 and 30 seconds.
export function pollAt(ctx, since) {
  const [shortest, longest] = pace(ctx);
  return ctx.now + Math.min(Math.max(Math.floor((ctx.now - since) / 8), shortest), longest);
}

// The next try after so many in a row: in 2, 4, 8, 16, then 30 seconds.
export function retryAt(ctx, attempt) {
  const [shortest, longest] = pace(ctx);
  return ctx.now + Math.min(shortest * 2 ** Math.min(Math.max(attempt - 1, 0), 16), longest);
}

// The operator's bounds, or the defaults.
function pace(ctx) {
  const set = JSON.parse(ctx.settings).pace ?? {};
  const bound = (ms, usual) => (Number.isInteger(ms) && ms > 0 ? ms : usual);
  const shortest = bound(set.shortest_ms, 2000);
  return [shortest, Math.max(bound(set.longest_ms, 30000), shortest)];
}

// --- The machine of a job: submitted once, then polled until it is ready ---

// How patient a family is, and what its clients read when patience ends.
const POLICY = {
  // How often a submission that was not taken is sent again: until the task's deadline.
  retries: Infinity,
  // How long it is sent again while the provider cannot be reached.
  unreachableMs: 300000,
  // Unreadable answers to polls, answers that do not know the job (both in a row), results that could not be copied.
  faults: 8,
  misses: 5,
  losses: 3,
  unavailable: "No available upstream, please retry later",
  failed: "the upstream failed to finish the task",
  lost: "the upstream's answer was lost, please submit the task again",
  uncopied: "the finished result could not be fetched from the upstream",
  cancelled: "cancelled before it was sent",
  interrupted: "the task was interrupted, please submit it again",
};

// What an answer means. Beside these `submitted` and `polled` may return an action, which is done at once: `done(...)`,
// `failed(...)`.
export const taken = (id) => ({ tag: "taken", val: id }); // the provider has taken the job, and calls it so
export const busy = { tag: "busy" }; // not now: certainly not taken, or polled too soon
export const missing = { tag: "missing" }; // the provider does not know the job, or not yet
export const faulty = (reason) => ({ tag: "faulty", val: reason }); // unreadable; the reason is for the operator's log
export const working = (progress = 0) => ({ tag: "working", val: progress }); // percent where the provider tells

// A family's job: `submission(request)` and `poll(id)` are its calls, `submitted(reply)` and `polled(reply)` say what their
// answers mean, `policy` replaces what it names.
export class Job {
  constructor({ submission, submitted, poll, polled, policy }) {
    Object.assign(this, { submission, submitted, poll, polled, policy: { ...POLICY, ...policy } });
  }

  // Accepts a request for so many units; the price key is the model's name. `atMost` is the most that its end may settle for.
  accept(model, request, { expectedMs, quantity = 1, unit = "", atMost } = {}) {
    return {
      model,
      charge: [{ keys: [model], quantity, unit }],
      atMost,
      stage: "submitted",
      progress: 0,
      expectedMs,
      state: bytes({ request, rests: 0, unreachable: null, until: null }),
      brief: new Uint8Array(),
      doomed: undefined,
      extra: "",
    };
  }

  advance(ctx, state, event) {
    const task = JSON.parse(text(state));
    if (task.id !== undefined) return step(task, "processing", this.#poll(ctx, task, event), task.progress);
    const action = this.#submit(ctx, task, event);
    if (action.tag === "taken") {
      const polls = { id: action.val, since: ctx.now, progress: 0, faults: 0, misses: 0, losses: 0 };
      return step(polls, "pending", wait(pollAt(ctx, ctx.now)));
    }
    // Submitted until the first answer, pending after it.
    return step(task, task.rests === 0 ? "submitted" : "pending", action);
  }

  #submit(ctx, task, event) {
    const waits = task.until !== null;
    if (event.tag === "reply") {
      task.unreachable = null;
      const answer = this.submitted(event.val);
      return answer.tag === "busy" ? this.#rest(ctx, task) : answer;
    }
    if (event.tag === "outage") return this.#unanswered(ctx, task, event.val);
    if (event.tag === "start" || (event.tag === "timer" && waits)) {
      task.until = null;
      return { tag: "call", val: this.submission(task.request) };
    }
    if (event.tag === "cancel") {
      // Without a wait it is sent, and the outcome is not known yet.
      const until = Math.min(Math.max(ctx.deadline, ctx.now), ctx.now + MAX_WAIT_MS);
      return waits ? failed(this.policy.cancelled, "request") : wait(until);
    }
    return this.#unexpected(event);
  }

  #rest(ctx, task) {
    if (task.rests >= this.policy.retries) return failed(this.policy.unavailable);
    task.rests += 1;
    task.until = retryAt(ctx, task.rests);
    return wait(task.until);
  }

  #unanswered(ctx, task, outage) {
    if (outage === "unreachable") {
      task.unreachable ??= ctx.now;
      if (ctx.now - task.unreachable < this.policy.unreachableMs) return this.#rest(ctx, task);
      return failed(this.policy.unavailable);
    }
    if (outage === "refused") {
      tell("error", "the host refused to make the submission, see the provider's configuration");
      return failed(this.policy.unavailable);
    }
    // It may have been taken, so it is not sent again.
    tell("warn", "the answer to a submission was lost", { outage });
    return failed(this.policy.lost);
  }

  #poll(ctx, task, event) {
    const rest = wait(pollAt(ctx, task.since));
    if (event.tag === "timer") return { tag: "call", val: this.poll(task.id) };
    if (event.tag === "reply") return this.#answered(ctx, task, this.polled(event.val), rest);
    if (event.tag === "outage" && event.val === "too-large") {
      return this.#faulty(ctx, task, "the answer is too large");
    }
    if (event.tag === "outage" && event.val === "refused") {
      tell("error", "the host refused to poll, see the provider's configuration", { id: task.id });
      return failed(this.policy.unavailable);
    }
    // A lost poll is repeated, and a job on its way cannot be stopped.
    if (event.tag === "outage" || event.tag === "cancel") return rest;
    if (event.tag === "lost") {
      task.losses += 1;
      tell("warn", "a finished result could not be copied", { id: task.id, reason: event.val[1] });
      if (task.losses > this.policy.losses) return failed(this.policy.uncopied);
      return wait(retryAt(ctx, task.losses));
    }
    return this.#unexpected(event);
  }

  #answered(ctx, task, answer, rest) {
    if (answer.tag === "busy") return rest;
    if (answer.tag === "faulty") return this.#faulty(ctx, task, answer.val);
    if (answer.tag === "missing") {
      if (task.misses < this.policy.misses) {
        task.misses += 1;
        return rest;
      }
      tell("warn", "the provider does not know the task it took", { id: task.id });
      return failed(this.policy.failed);
    }
    task.faults = task.misses = 0;
    if (answer.tag !== "working") return answer;
    const percent = Math.min(Math.max(Math.trunc(answer.val) || 0, 0), 100);
    task.progress = Math.max(task.progress, percent);
    return rest;
  }

  #faulty(ctx, task, reason) {
    task.faults += 1;
    tell("warn", "a poll went wrong", { id: task.id, reason });
    if (task.faults > this.policy.faults) return failed(this.policy.failed);
    return wait(retryAt(ctx, task.faults));
  }

  // The task fails, so that it does not hang.
  #unexpected(event) {
    tell("error", "an event came that nothing asked for", { event: event.tag });
    return failed(this.policy.interrupted);
  }
}

const wait = (until) => ({ tag: "wait", val: until });
const tell = (level, message, fields = {}) => log.write(level, message, Object.entries(fields));

// --- Checks of parameters ---

// The fields of a request's body that `schema` names, with its defaults; `null` counts as absent where a field may be left
// out. Refuses the request where one is wrong; the message says what was expected and what came.
//
// Checks `type`, `required`, `enum`, `minLength`, `maxLength`, `minimum`, `maximum`, `items`, `minItems` and `maxItems`, and
// no other keyword.
export function params(body, schema) {
  const value = JSON.parse(body);
  if (!isObject(value)) {
    throw { tag: "invalid", val: [{ field: undefined, message: `expected a JSON object, got ${came(value)}` }] };
  }
  const found = shape(value, schema, "");
  rules(found, schema, "");
  return found;
}

export function refuse(path, problem) {
  throw { tag: "invalid", val: [{ field: path, message: `\`${path}\`: ${problem}` }] };
}

// What came, as a client reads it.
export function came(value) {
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isObject(value)) return "an object";
  if (typeof value !== "string") return JSON.stringify(value);
  const letters = [...value];
  return `the string ${JSON.stringify(letters.length > 60 ? letters.slice(0, 60).join("") + "..." : value)}`;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const TYPES = {
  string: ["a string", (it) => typeof it === "string"],
  integer: ["an integer", Number.isInteger],
  number: ["a number", (it) => typeof it === "number"],
  boolean: ["true or false", (it) => typeof it === "boolean"],
  array: ["an array", Array.isArray],
  object: ["an object", isObject],
};
const below = (path, name) => (path ? `${path}.${name}` : name);

// The value with defaults, in the shape of its schema.
function shape(value, schema, path) {
  const [expected, fits] = TYPES[schema.type] ?? ["", () => true];
  if (!fits(value)) refuse(path, `expected ${expected}, got ${came(value)}`);
  if (Array.isArray(value) && schema.items) return value.map((item, at) => shape(item, schema.items, `${path}[${at}]`));
  if (!isObject(value) || !schema.properties) return value;
  const found = {};
  for (const [name, part] of Object.entries(schema.properties)) {
    const required = (schema.required ?? []).includes(name);
    if (required && !(name in value)) refuse(below(path, name), "expected a value, got nothing");
    if (required || (value[name] ?? null) !== null) found[name] = shape(value[name], part, below(path, name));
    else if ("default" in part) found[name] = part.default;
  }
  return found;
}

function rules(value, schema, path) {
  const demand = (holds, rule) => holds || refuse(path, `expected ${rule}, got ${came(value)}`);
  if (schema.enum) {
    const words = schema.enum.map((word) => (typeof word === "string" ? `\`${word}\`` : JSON.stringify(word)));
    demand(schema.enum.includes(value), words.length < 3 ? words.join(" or ") : "one of " + words.join(", "));
  }
  const [least, most] = Array.isArray(value) ? ["minItems", "maxItems"] : ["minLength", "maxLength"];
  if (Array.isArray(value) || typeof value === "string") {
    const length = [...value].length;
    demand(length >= (schema[least] ?? 0), `a length of at least ${schema[least]}`);
    demand(length <= (schema[most] ?? length), `a length of at most ${schema[most]}`);
  }
  if (typeof value === "number") {
    demand(value >= (schema.minimum ?? value), `at least ${schema.minimum}`);
    demand(value <= (schema.maximum ?? value), `at most ${schema.maximum}`);
  }
  if (Array.isArray(value)) value.forEach((item, at) => rules(item, schema.items ?? {}, `${path}[${at}]`));
  if (!isObject(value)) return;
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    if (name in value) rules(value[name], part, below(path, name));
  }
}
