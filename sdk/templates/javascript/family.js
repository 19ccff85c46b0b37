// A family to change: one model, `sketch-1`, that turns a prompt into a picture.
//
// Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
// `{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `SCHEMA` and `check` to your fields,
// `jobs.advance` to your provider's requests and answers.
//
// Every function is pure: no clock, no files, no network; what it may know are its arguments. An error of the contract
// is thrown. 64-bit integers are plain numbers, exact up to 2^53; a `seed` above that loses its last digits.

const FAMILY = "sketch";
const VERSION = "0.1.0";
const SURFACE = "images.generate";
const MODEL = "sketch-1";
const PROVIDER = "sketcher";
// Unreadable answers in a row before the task fails.
const MAX_FAULTS = 5;
const POLL_MS = 2000;

const SCHEMA = {
  type: "object",
  required: ["prompt"],
  properties: {
    prompt: { type: "string", minLength: 1, maxLength: 2000 },
    detail: { type: "integer", minimum: 1, maximum: 10, default: 5 },
  },
};

export const manifest = {
  describe() {
    // wit/manifest.schema.json says what may stand here.
    return JSON.stringify({
      family: FAMILY,
      version: VERSION,
      models: [{ id: MODEL, surfaces: [SURFACE], modality: "image" }],
      surfaces: [{ name: SURFACE, schema: SCHEMA }],
      providers: [PROVIDER],
      price_keys: [MODEL],
      self_tests: [
        { surface: SURFACE, body: { model: MODEL, prompt: "a kite" }, expect: "accepted" },
        { surface: SURFACE, body: { model: MODEL, detail: 11 }, expect: "refused" },
      ],
    });
  },
};

export const jobs = {
  submit(ctx, request) {
    const { prompt, detail } = check(JSON.parse(request.body));
    return {
      model: MODEL,
      charge: { keys: [MODEL], quantity: 1 },
      stage: "submitted",
      progress: 0,
      expectedMs: 20000,
      state: write({ step: "submitting", prompt, detail }),
      brief: new Uint8Array(),
      doomed: undefined,
    };
  },

  advance(ctx, state, event) {
    const task = JSON.parse(text(state));
    if (task.step === "submitting") {
      if (event.tag === "start") {
        const body = { text: task.prompt, detail: task.detail };
        return step(task, "submitted", { tag: "call", val: post("/v1/sketches", body) });
      }
      if (event.tag === "reply") return submitted(ctx, task, event.val);
    } else {
      if (event.tag === "timer") {
        return step(task, "processing", { tag: "call", val: get(`/v1/sketches/${task.id}`) });
      }
      if (event.tag === "reply") return polled(ctx, task, event.val);
      // A lost poll is repeated, and a picture on its way cannot be stopped. A lost submission ends the task.
      const lost = event.tag === "outage" && ["timeout", "broken"].includes(event.val);
      if (lost || event.tag === "cancel") return step(task, "processing", wait(ctx, POLL_MS));
    }
    return fail(task, "the upstream did not finish the picture");
  },

  migrate(fromVersion, state) {
    // Called only for versions listed in `reads_state` of the manifest.
    throw `no state of version ${fromVersion} is known`;
  },
};

// The answer to the submission.
function submitted(ctx, task, reply) {
  const answer = read(reply);
  if (reply.status >= 200 && reply.status < 300 && typeof answer.id === "string") {
    return step({ step: "polling", id: answer.id, faults: 0 }, "pending", wait(ctx, POLL_MS));
  }
  // 401 to 403: the operator's account is refused, and the host asks the next one.
  const blame = reply.status >= 401 && reply.status <= 403 ? "account" : "upstream";
  return fail(task, "the upstream did not take the picture", blame);
}

// The answer to a poll.
function polled(ctx, task, reply) {
  const answer = read(reply);
  if (answer.state === "working") return step({ ...task, faults: 0 }, "processing", wait(ctx, POLL_MS));
  if (answer.state === "done" && typeof answer.image === "string") return done(task, answer.image);
  if (answer.state === "failed") return fail(task, "the upstream failed to draw the picture");
  const faults = task.faults + 1;
  if (faults <= MAX_FAULTS) return step({ ...task, faults }, "processing", wait(ctx, POLL_MS * faults));
  return fail(task, "the upstream's answers cannot be read");
}

// The parameters of a request. A message says what was expected and what came.
function check({ prompt, detail = 5 }) {
  if (prompt === undefined || prompt === null) refuse("prompt", "expected a value, got nothing");
  if (typeof prompt !== "string") refuse("prompt", `expected a string, got ${JSON.stringify(prompt)}`);
  const length = [...prompt].length;
  if (length < 1 || length > 2000) refuse("prompt", `expected 1 to 2000 characters, got ${length}`);
  if (!Number.isInteger(detail)) refuse("detail", `expected an integer, got ${JSON.stringify(detail)}`);
  if (detail < 1) refuse("detail", `expected at least 1, got ${detail}`);
  if (detail > 10) refuse("detail", `expected at most 10, got ${detail}`);
  return { prompt, detail };
}

function refuse(field, problem) {
  throw { tag: "invalid", val: [field, `\`${field}\`: ${problem}`] };
}

// QuickJS has no TextEncoder and no TextDecoder. JSON written with escapes is ASCII.
function write(task) {
  const escape = (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  const ascii = JSON.stringify(task).replace(/[\u0080-\uffff]/g, escape);
  return Uint8Array.from(ascii, (unit) => unit.charCodeAt(0));
}

// Bytes of UTF-8 as text; throws where they are none.
function text(bytes) {
  return decodeURIComponent(Array.from(bytes, (byte) => "%" + byte.toString(16).padStart(2, "0")).join(""));
}

// A reply's JSON object; empty when it is none.
function read(reply) {
  if (reply.body.tag !== "inline") return {};
  try {
    const body = JSON.parse(text(reply.body.val));
    return body !== null && typeof body === "object" ? body : {};
  } catch {
    return {};
  }
}

// `once`: if its answer is lost, the host does not send it again.
const post = (path, body) => call("POST", path, { tag: "json", val: JSON.stringify(body) }, "once");
const get = (path) => call("GET", path, { tag: "none" }, "safe");

function call(method, path, body, replay) {
  return {
    provider: PROVIDER,
    affinity: undefined,
    method,
    target: { tag: "path", val: path },
    headers: [],
    body,
    timeoutMs: 30000,
    replay,
    reading: "whole",
    credentials: true,
    shared: undefined,
  };
}

const wait = (ctx, ms) => ({ tag: "wait", val: ctx.now + ms });
const step = (task, stage, next) => ({ state: write(task), stage, progress: 0, view: undefined, next });

function done(task, image) {
  const outcome = {
    public: JSON.stringify({ images: [{ url: ["media:0"], expires_at: "expires:0" }] }),
    private: "null",
    products: [{ source: image, mime: "image/png", edit: undefined }],
    claims: [],
    settle: undefined,
  };
  return step(task, "processing", { tag: "done", val: outcome });
}

function fail(task, message, blame = "upstream") {
  const failure = { blame, message };
  const ending = { failure, public: undefined, private: undefined, products: [], claims: [] };
  return step(task, "processing", { tag: "fail", val: ending });
}
