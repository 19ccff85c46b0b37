// The AI SDK's provider of Black Forest Labs at the simulated one: the images of ctx-pro and ctx-max.
//
//     node provider_bfl.mjs SCENE
//
// SCENE as in `python/providers_common.py`. A line for every job that went well.

import assert from "node:assert/strict";
import { generateImage } from "ai";
import { createBlackForestLabs } from "@ai-sdk/black-forest-labs";

const { context, key } = JSON.parse(process.argv[2]);
const ok = (job) => console.log("ok", job);

// The package trusts the provider's own names and no address of this machine, so the names stand for the simulation's
// origins here, as a resolver would have it.
const names = {
  [context.submit]: "https://api.bfl.ai",
  [context.poll]: "https://api.eu4.bfl.ai",
  [context.delivery]: "https://delivery.eu4.bfl.ai",
};
const resolved = async (input, init) => {
  let url = String(input);
  for (const [origin, name] of Object.entries(names)) {
    if (url.startsWith(`${name}/`)) url = origin + url.slice(name.length);
  }
  assert.ok(url.startsWith("http://127.0.0.1:"), `${url} leaves the machine`);
  const answer = await fetch(url, init);
  if (!answer.headers.get("content-type")?.includes("json")) return answer;
  let text = await answer.text();
  for (const [origin, name] of Object.entries(names)) text = text.replaceAll(`${origin}/`, `${name}/`);
  return new Response(text, { status: answer.status, headers: { "content-type": "application/json" } });
};

const bfl = createBlackForestLabs({
  baseURL: "https://api.bfl.ai/v1", apiKey: key, fetch: resolved, pollIntervalMillis: 20, pollTimeoutMillis: 60_000,
});
const made = async (model, prompt, more = {}) => {
  const { image, providerMetadata } = await generateImage({ model: bfl.image(model), prompt, maxRetries: 0, ...more });
  assert.ok(image.uint8Array.length > 1000 && image.mediaType.startsWith("image/"), image.mediaType);
  return { image, facts: providerMetadata.blackForestLabs.images[0] };
};
const refused = async (...call) => {
  const error = await made(...call).then(() => assert.fail("accepted"), (error) => error);
  return error;
};

for (const [model, cost] of [["flux-kontext-pro", 4], ["flux-kontext-max", 8]]) {
  const { facts } = await made(model, "a kite");
  assert.equal(facts.cost, cost);
}
ok("an image of each model");

const options = { outputFormat: "jpeg", promptUpsampling: true, safetyTolerance: 6 };
const { image, facts } = await made("flux-kontext-pro", "a kite", {
  aspectRatio: "16:9", seed: 7, providerOptions: { blackForestLabs: options },
});
assert.deepEqual([image.mediaType, facts.seed], ["image/jpeg", 7]);
ok("an image with all its fields");

const bytes = image.uint8Array;
await made("flux-kontext-max", { text: "in red", images: [bytes] });
await made("flux-kontext-max", { text: "both", images: [bytes, bytes, bytes, bytes] });
ok("an image from one image, and from four");

const lost = await refused("flux-kontext-pro", { text: "in red", images: ["https://nohost.invalid/x.png"] });
assert.equal(lost.statusCode, 422);
assert.match(lost.message, /input_image.*could not be downloaded/);
ok("an image that nobody can download");

const wrong = await refused("flux-kontext-pro", "a kite", { aspectRatio: "30:9" });
assert.equal(wrong.statusCode, 422);
assert.match(wrong.message, /Aspect ratio must be between/);
assert.match((await refused("flux-kontext-pro", "[[error]] a kite")).message, /failed/);
assert.equal((await refused("flux-kontext-pro", "[[402]] a kite")).statusCode, 402);
ok("refusals");
