// Responses through the openai package for Node.

import OpenAI from "openai";

import { all, Bill, check, equal, GATEWAY, holds, KEYS, main, PIXEL, raises } from "./checks.mjs";

const MODELS = { "gpt-sim": "chat", "lm-sonnet-4-6": "messages" };
const QUESTION = "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn";
const WEATHER = {
  type: "function",
  name: "weather",
  description: "The weather somewhere.",
  strict: null,
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 3 } },
    required: ["city", "days"],
    additionalProperties: false,
  },
};
const HARBOUR = { type: "function", name: "harbour", strict: null, parameters: { type: "object", properties: {} } };

const make = (key = "main") => new OpenAI({ apiKey: KEYS[key] ?? key, baseURL: `${GATEWAY}/v1`, maxRetries: 0 });

const client = make();

const create = (asked) => client.responses.create({ model: "gpt-sim", ...asked });

/** Older versions add `output_text` to whole answers of `create` only. */
const said = (response) =>
  response.output.flatMap((item) => (item.type === "message" ? item.content.map((part) => part.text) : [])).join("");

check(23, "create", async () => {
  for (const [model, wire] of Object.entries(MODELS)) {
    const bill = await Bill.open();
    const response = await create({ model, input: QUESTION, instructions: "Be brief." });
    equal([response.object, response.status, response.model], ["response", "completed", model]);
    equal([response.output_text.split(" ").length, response.usage.output_tokens], [9, 9]);
    await bill.expect(wire);
  }
});

check(23, "stream, and its helper", async () => {
  for (const [model, wire] of Object.entries(MODELS)) {
    const bill = await Bill.open();
    const whole = await create({ model, input: QUESTION });
    const events = await all(create({ model, input: QUESTION, stream: true }));
    const text = events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
    equal(text, whole.output_text);
    equal(events.map((event) => event.sequence_number), [...events.keys()]);
    equal([events[0].type, events.at(-1).type], ["response.created", "response.completed"]);
    const final = await client.responses.stream({ model, input: QUESTION }).finalResponse();
    equal([said(final), final.status], [text, "completed"]);
    await bill.expect(wire, 3);
  }
});

check(23, "tools, echoed and by the id of the response", async () => {
  for (const model of Object.keys(MODELS)) {
    for (const streaming of [false, true]) {
      const tools = [WEATHER, HARBOUR];
      const question = [{ role: "user", content: "[[tools:2]] look" }];
      const asked = { model, tools, input: question };
      const first = streaming ? await client.responses.stream(asked).finalResponse() : await create(asked);
      const called = first.output.filter((item) => item.type === "function_call");
      equal(called.map((call) => call.name), ["weather", "harbour"]);
      const outputs = called.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "snow, then sun" }));
      const output = first.output.map(({ parsed_arguments, ...item }) => item);
      const echoed = await create({ model, tools, input: [...question, ...output, ...outputs] });
      holds(echoed.output_text.includes("snow, then sun"), echoed.output_text);
      const chained = await create({ model, tools, input: outputs, previous_response_id: first.id });
      holds(chained.output_text.includes("snow, then sun"), chained.output_text);
    }
  }
});

check(23, "structured output", async () => {
  for (const model of Object.keys(MODELS)) {
    const format = { type: "json_schema", name: "weather", strict: true, schema: WEATHER.parameters };
    const parsed = await client.responses.parse({ model, input: "a ship", text: { format } });
    equal(Object.keys(JSON.parse(parsed.output_text)).sort(), ["city", "days"]);
  }
});

check(23, "an image", async () => {
  const url = `data:image/png;base64,${PIXEL}`;
  const look = [{ type: "input_text", text: "look" }, { type: "input_image", image_url: url, detail: "auto" }];
  for (const model of Object.keys(MODELS)) {
    const response = await create({ model, input: [{ role: "user", content: look }] });
    holds(response.output_text.includes("saw image/png 1x1"), response);
  }
});

check(23, "thinking", async () => {
  const asked = { model: "lm-opus-4-8", input: "[[tool]] look", tools: [WEATHER], reasoning: { effort: "low", summary: "auto" } };
  const final = await client.responses.stream(asked).finalResponse();
  equal(final.output.map((item) => item.type).filter((type) => type !== "message"), ["reasoning", "function_call"]);
  holds(final.output[0].encrypted_content, final.output[0]);
});

check(23, "conversations", async () => {
  const first = await create({ input: "my name is Ada" });
  const second = await create({ input: "who am I?", previous_response_id: first.id });
  equal(said(await client.responses.retrieve(second.id)), second.output_text);
  equal((await client.responses.inputItems.list(second.id)).data.map((item) => item.type), ["message"]);
  const foreign = { model: "gpt-sim", input: "x", previous_response_id: first.id };
  const error = await raises(OpenAI.BadRequestError, () => make("other").responses.create(foreign));
  equal([error.code, error.param], ["previous_response_not_found", "previous_response_id"]);
  await (client.responses.delete ?? client.responses.del).call(client.responses, first.id);
  await raises(OpenAI.NotFoundError, () => client.responses.retrieve(first.id));
});

check(23, "log probabilities", async () => {
  const asked = { input: QUESTION, include: ["message.output_text.logprobs"], top_logprobs: 2 };
  const whole = await create(asked);
  const entries = whole.output[0].content[0].logprobs;
  equal(entries.map((entry) => entry.token).join(""), whole.output_text);
  const events = await all(create({ ...asked, stream: true }));
  const deltas = events.filter((event) => event.type === "response.output_text.delta");
  for (const { delta, logprobs } of deltas) {
    equal(logprobs.map((entry) => entry.token).join(""), delta);
  }
  equal(deltas.flatMap((event) => event.logprobs), entries);
  const final = await client.responses.stream({ model: "gpt-sim", ...asked }).finalResponse();
  equal(final.output[0].content[0].logprobs, entries);
  const error = await raises(OpenAI.BadRequestError, () => create({ ...asked, model: "lm-sonnet-4-6" }));
  equal(error.param, "include[0]");
});

check(23, "a stream once more", async () => {
  for (const model of Object.keys(MODELS)) {
    const events = await all(create({ model, input: QUESTION, stream: true }));
    const { id } = events[0].response;
    // Older versions have no `retrieve` of a stream.
    const again = (query) => all(client.get(`/responses/${id}`, { query: { stream: true, ...query }, stream: true }));
    equal(await again({}), events);
    equal(await again({ starting_after: 4 }), events.slice(5));
    if (client.chat.completions.stream) {
      const final = await client.responses.stream({ response_id: id, starting_after: 4 }).finalResponse();
      equal([said(final), final.status], [said(events.at(-1).response), "completed"]);
    }
    await raises(OpenAI.NotFoundError, () => make("other").responses.retrieve(id));
  }
});

check(23, "errors", async () => {
  const error = await raises(OpenAI.BadRequestError, () => create({ input: "x", background: true }));
  equal([error.param, error.type], ["background", "invalid_request_error"]);
  const events = await all(create({ input: "[[cut:3]] one two three four five", stream: true }));
  equal(events.at(-1).type, "response.failed");
  equal([events.at(-1).response.status, events.at(-1).response.error.code], ["failed", "server_error"]);
});

await main("openai");
