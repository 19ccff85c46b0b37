// OpenAI's SDK for Node against the gateway: images, videos and completions, in the shape that it knows.
//
//     node openai_media.mjs SCENE
//
// SCENE as in `python/openai_media.py`. A line for every job that went well. Older versions know no videos.

import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";

const scene = JSON.parse(process.argv[2]);
const client = new OpenAI({ apiKey: scene.key, baseURL: scene.base_url, maxRetries: 0 });
const ok = (job) => console.log("ok", job);

const refused = async (kind, param, call) => {
  const error = await call().then(() => assert.fail("accepted"), (error) => error);
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  assert.equal(error.param ?? null, param, error.message);
  return error;
};

const made = await client.images.generate({ model: "imagine-1.5-gw", prompt: "a kite", n: 2, size: "1024x1024" });
assert.equal(made.data.length, 2);
for (const { url } of made.data) assert.ok((await (await fetch(url)).arrayBuffer()).byteLength > 1000);
ok("images by link");

const [{ b64_json: inside }] = (
  await client.images.generate({ model: "ctx-pro", prompt: "a kite", size: "1536x1024", response_format: "b64_json" })
).data;
const kite = Buffer.from(inside, "base64");
assert.deepEqual([kite.readUInt32BE(16), kite.readUInt32BE(20)], [1248, 832]);
ok("an image inside of the answer");

const file = () => toFile(kite, "kite.png", { type: "image/png" });
const edited = await client.images.edit({ model: "imagine-1.5-gw", image: await file(), prompt: "at night" });
assert.ok(edited.data[0].url);
const both = [await file(), await file()];
const merged = await client.images.edit({ model: "ctx-pro", image: both, prompt: "both", response_format: "b64_json" });
assert.ok(merged.data[0].b64_json);
ok("an edit of one image, and of two");

await refused(OpenAI.BadRequestError, "quality", () => client.images.generate({ model: "ctx-pro", prompt: "a", quality: "high" }));
const error = await refused(OpenAI.BadRequestError, null, () => client.images.generate({ model: "ctx-pro", prompt: "[[moderated-output]] a" }));
assert.equal(error.code, "content_policy_violation");
ok("what cannot be made is told by its field");

const asked = { model: "over-chat", prompt: ["[[words:5]] one", "[[words:5]] two"], max_tokens: 64 };
const whole = await client.completions.create(asked);
const texts = ["", ""];
for await (const piece of await client.completions.create({ ...asked, stream: true })) {
  for (const { index, text } of piece.choices) texts[index] += text;
}
assert.deepEqual(texts, whole.choices.map(({ text }) => text));
assert.ok(texts.every(Boolean) && whole.usage.total_tokens > 0);
ok("completions, whole and streamed");

const listed = [];
for await (const model of client.models.list()) listed.push(model.id);
assert.ok(listed.includes("over-chat") && (await client.models.retrieve("ctx-pro")).id === "ctx-pro");
await refused(OpenAI.NotFoundError, null, () => client.models.retrieve("none"));
ok("models");

if (client.videos) {
  const video = await client.videos.create({ model: "motion-2.6", prompt: "waves", seconds: "5", size: "1280x720" });
  let read = video;
  while (read.status !== "completed") {
    assert.ok(["queued", "in_progress"].includes(read.status), JSON.stringify(read));
    read = await client.videos.retrieve(video.id);
  }
  const film = Buffer.from(await (await client.videos.downloadContent(video.id)).arrayBuffer());
  assert.equal(film.toString("latin1", 4, 8), "ftyp");
  ok("a video from its text to its file");

  const picture = await toFile(Buffer.from(await (await fetch(scene.sample)).arrayBuffer()), "first.png", { type: "image/png" });
  const second = await client.videos.create({
    model: "scene-3.1-fast", prompt: "waves", seconds: "4", size: "1280x720", input_reference: picture,
  });
  const ids = [];
  for await (const one of client.videos.list({ limit: 1 })) ids.push(one.id);
  assert.deepEqual(ids.slice(0, 2), [second.id, video.id]);
  ok("a video from a picture, and videos page by page");

  const wrong = { model: "motion-2.6", prompt: "a", seconds: "7" };
  await refused(OpenAI.BadRequestError, "seconds", () => client.videos.create(wrong));
  await refused(OpenAI.NotFoundError, null, () => client.videos.retrieve("video_1"));
  ok("what videos are refused");
}
