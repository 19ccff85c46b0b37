// A family to change: one model, `sketch-1`, that turns a prompt into a picture.
//
// Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
// `{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `SCHEMA` to your fields, `submission` to your
// provider's request, `submitted` and `polled` to its answers. Retries, lost answers and polls are `gatehouse.js`'s.
//
// Every function is pure: no clock, no files, no network; what it may know are its arguments. An error of the contract
// is thrown. 64-bit integers are plain numbers, exact up to 2^53; a `seed` above that loses its last digits.

import { Job, busy, done, failed, faulty, get, isSuccess, missing, params, post, product, read, taken, working } from "./gatehouse.js";

const FAMILY = "sketch";
const VERSION = "0.1.0";
const SURFACE = "images.generate";
const MODEL = "sketch-1";
const PROVIDER = "sketcher";

// What a client may send: documented, and checked.
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

const job = new Job({
  policy: {
    faults: 5,
    failed: "the upstream's answers cannot be read",
    lost: "the upstream did not finish the picture",
  },
  submission: ({ prompt, detail }) => post(PROVIDER, "/v1/sketches", { text: prompt, detail }),
  // The answer to the submission: the provider's id of the job.
  submitted(reply) {
    const { id } = read(reply);
    if (isSuccess(reply) && typeof id === "string") return taken(id);
    if (reply.status === 429) return busy;
    // 401 to 403: the operator's account is refused, and the host asks the next one.
    const blame = reply.status >= 401 && reply.status <= 403 ? "account" : "upstream";
    return failed("the upstream did not take the picture", blame);
  },
  poll: (id) => get(PROVIDER, `/v1/sketches/${id}`),
  // The answer to a poll: the picture, once there is one.
  polled(reply) {
    const { state, image } = read(reply);
    if (reply.status === 404) return missing;
    if (reply.status === 429) return busy;
    if (state === "working") return working();
    if (state === "failed") return failed("the upstream failed to draw the picture");
    if (state !== "done" || typeof image !== "string") return faulty(`status ${reply.status} without a known state`);
    const result = { images: [{ url: ["media:0"], expires_at: "expires:0" }] };
    return done(result, [product(image, "image/png")]);
  },
});

export const jobs = {
  submit: (ctx, request) => job.accept(MODEL, params(request.body, SCHEMA), { expectedMs: 20000, unit: "picture" }),
  advance: (ctx, state, event) => job.advance(ctx, state, event),
  migrate(fromVersion, state) {
    // Called only for versions listed in `reads_state` of the manifest.
    throw `no state of version ${fromVersion} is known`;
  },
};
