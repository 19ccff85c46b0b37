// The openai package for Node against the gateway.

import OpenAI from "openai";

import { all, ask, Bill, calls, check, equal, GATEWAY, header, holds, KEYS, main, many, paid, PIXEL, raises, requestId, spy } from "./checks.mjs";

const SURFACE = "chat.completions";
const BARE = { "x-response-format": "bare" };
const QUESTION = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn" },
];
const WEATHER = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather somewhere.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 3 } },
      required: ["city", "days"],
      additionalProperties: false,
    },
  },
};
const HARBOUR = {
  type: "function",
  function: { name: "harbour", parameters: { type: "object", properties: { ship: { type: "string" } } } },
};

const client = ({ key = "main", ...more } = {}) =>
  new OpenAI({ apiKey: KEYS[key] ?? key, baseURL: `${GATEWAY}/v1`, defaultHeaders: BARE, maxRetries: 0, ...more });

const user = (content) => [{ role: "user", content }];

const create = (asked, api = client()) => api.chat.completions.create({ model: "gpt-sim", ...asked });

// Version 4 keeps its helpers in the beta namespace.
const helper = (asked, api = client()) =>
  (api.chat.completions.stream ? api.chat.completions : api.beta.chat.completions).stream({ model: "gpt-sim", ...asked });

const joined = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");

const finishes = (chunks) => chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean);

function looksRight(completion, model = "gpt-sim") {
  equal([completion.object, completion.model], ["chat.completion", model]);
  holds(completion.id.startsWith("chatcmpl-"), completion.id);
  const [choice] = completion.choices;
  equal([choice.index, choice.message.role, choice.finish_reason], [0, "assistant", "stop"]);
  holds(choice.message.content, "content");
  const { prompt_tokens, completion_tokens, total_tokens } = completion.usage;
  equal(total_tokens, prompt_tokens + completion_tokens);
}

check(1, "create", async () => {
  const bill = await Bill.open();
  const completion = await create({ messages: QUESTION });
  looksRight(completion);
  equal(completion.usage.completion_tokens, 9);
  holds(completion._request_id.startsWith("req_"), completion._request_id);
  await bill.expect("chat");
});

check(1, "stream", async () => {
  const bill = await Bill.open();
  const whole = await create({ messages: QUESTION });
  const chunks = await all(create({ messages: QUESTION, stream: true }));
  equal(joined(chunks), whole.choices[0].message.content);
  equal(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created} ${chunk.model} ${chunk.object}`)).size, 1);
  equal(chunks.map((chunk) => chunk.choices[0].delta.role).filter(Boolean), ["assistant"]);
  equal(finishes(chunks), ["stop"]);
  equal(chunks.filter((chunk) => chunk.usage), []);
  await bill.expect("chat", 2);
});

check(1, "include_usage", async () => {
  const chunks = await all(create({ messages: QUESTION, stream: true, stream_options: { include_usage: true } }));
  const last = chunks.pop();
  equal(chunks.filter((chunk) => chunk.usage), []);
  equal([last.choices, last.usage.completion_tokens], [[], 9]);
});

check(1, "stream helper", async () => {
  const whole = await create({ messages: QUESTION });
  const stream = helper({ messages: QUESTION });
  let deltas = "";
  stream.on("content", (delta) => (deltas += delta));
  const final = await stream.finalChatCompletion();
  equal(final.choices[0].message.content, whole.choices[0].message.content);
  equal([deltas, final.choices[0].finish_reason], [final.choices[0].message.content, "stop"]);
});

check(1, "log probabilities", async () => {
  const asked = { messages: QUESTION, logprobs: true, top_logprobs: 3 };
  const [choice] = (await create(asked)).choices;
  const entries = choice.logprobs.content;
  equal(entries.map((entry) => entry.token).join(""), choice.message.content);
  equal([...new Set(entries.map((entry) => entry.top_logprobs.length))], [3]);
  const final = await helper(asked).finalChatCompletion();
  equal(final.choices[0].logprobs.content, entries);
  equal((await create({ ...asked, model: "lm-sonnet-4-6" })).choices[0].logprobs, null);
});

check(1, "a provider that does not stream", async () => {
  const asked = { messages: user("[[json-for-stream]] [[words:9]] one two three four five six seven eight nine") };
  const whole = await create(asked);
  const final = await helper(asked).finalChatCompletion();
  equal(final.choices[0].message.content, whole.choices[0].message.content);
  equal(final.choices[0].finish_reason, "stop");
});

check(1, "tools", async () => {
  const messages = user("what is the weather in Reykjavík?");
  const tools = [WEATHER, HARBOUR];
  const [choice] = (await create({ messages, tools, tool_choice: "required" })).choices;
  equal([choice.finish_reason, choice.message.content], ["tool_calls", null]);
  const [call] = choice.message.tool_calls;
  equal([call.type, call.function.name], ["function", "weather"]);
  const { days } = JSON.parse(call.function.arguments);
  holds(1 <= days && days <= 3, call);
  const result = { role: "tool", tool_call_id: call.id, content: "snow, then sun" };
  const second = await create({ messages: [...messages, choice.message, result], tools });
  holds(second.choices[0].message.content.includes("the tool said: snow, then sun"), second);
});

check(1, "parallel tools, streamed", async () => {
  const asked = { messages: user("[[tools:2]] look"), tools: [WEATHER, HARBOUR] };
  const found = [];
  for (const chunk of await all(create({ ...asked, stream: true }))) {
    for (const delta of chunk.choices[0].delta.tool_calls ?? []) {
      const call = (found[delta.index] ??= { ids: [], names: [], text: "" });
      if (delta.id) call.ids.push(delta.id);
      if (delta.function.name) call.names.push(delta.function.name);
      call.text += delta.function.arguments ?? "";
    }
  }
  equal(found.map((call) => [call.ids.length, ...call.names]), [[1, "weather"], [1, "harbour"]]);
  for (const call of found) JSON.parse(call.text);
  const [final] = (await helper(asked).finalChatCompletion()).choices;
  equal(final.message.tool_calls.map((call) => call.function.name), ["weather", "harbour"]);
  equal(final.finish_reason, "tool_calls");
});

check(1, "structured output", async () => {
  const json_schema = { name: "ship", strict: true, schema: WEATHER.function.parameters };
  const completion = await create({ messages: user("a ship"), response_format: { type: "json_schema", json_schema } });
  equal(Object.keys(JSON.parse(completion.choices[0].message.content)).sort(), ["city", "days"]);
});

check(1, "an image", async () => {
  const look = [{ type: "text", text: "look" }, { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }];
  for (const model of ["gpt-sim", "lm-sonnet-4-6"]) {
    const completion = await create({ model, messages: user(look) });
    holds(completion.choices[0].message.content.includes("saw image/png 1x1"), model);
  }
});

check(1, "models", async () => {
  const ids = (await all(client().models.list())).map((model) => model.id);
  for (const id of ["gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8"]) holds(ids.includes(id), ids);
  equal((await client().models.retrieve("gpt-sim")).id, "gpt-sim");
});

check(2, "hybrid is refused by name", async () => {
  const api = client({ defaultHeaders: { "x-response-format": "hybrid" } });
  const error = await raises(OpenAI.BadRequestError, () => create({ messages: QUESTION }, api));
  holds(error.message.includes("expected wrapped or bare"), error.message);
});

check(3, "wrapped, through the raw response", async () => {
  const api = client({ defaultHeaders: {} });
  const raw = await (await create({ messages: QUESTION }, api).asResponse()).json();
  equal([Object.keys(raw).sort(), raw.code], [["code", "data"], 200]);
  looksRight(raw.data);
  const chunks = await all(create({ messages: QUESTION, stream: true }, api));
  equal(joined(chunks), raw.data.choices[0].message.content, "streams are never wrapped");
});

check(3, "bare, by the key's setting", async () => {
  looksRight(await create({ messages: QUESTION }, client({ key: "bare", defaultHeaders: {} })));
});

const ERRORS = [
  [401, OpenAI.AuthenticationError, "authentication_error", "sk-wrong", "gpt-sim", "hello"],
  [402, OpenAI.APIError, "payment_required", "poor", "gpt-sim", "hello"],
  [403, OpenAI.PermissionDeniedError, "permission_error", "narrow", "gpt-sim", "hello"],
  [404, OpenAI.NotFoundError, "not_found_error", "main", "gpt-nothing", "hello"],
  [413, OpenAI.APIError, "invalid_request_error", "main", "gpt-sim", "[[413]] a book"],
  [429, OpenAI.RateLimitError, "rate_limit_error", "main", "gpt-limited", "[[429]] hello"],
  [502, OpenAI.InternalServerError, "bad_gateway", "main", "gpt-failing", "[[500]] hello"],
  [502, OpenAI.InternalServerError, "bad_gateway", "main", "gpt-failing", "[[502-html]] hello"],
  [502, OpenAI.InternalServerError, "bad_gateway", "main", "gpt-distrusted", "[[401]] hello"],
];

check(6, "classes of errors", async () => {
  for (const [status, kind, word, key, model, text] of ERRORS) {
    for (const stream of [false, true]) {
      // The account is paused by the first; 503 is another row's business.
      if (stream && status === 429) continue;
      const error = await raises(kind, () => create({ model, messages: user(text), stream }, client({ key })));
      equal([error.status, error.type, String(error.code)], [status, word, String(status)], text);
      holds(requestId(error).startsWith("req_"), requestId(error));
      equal(requestId(error), header(error, "x-gateway-request-id"));
      const final = status < 429 || model.endsWith("-distrusted");
      equal(header(error, "x-should-retry"), final ? "false" : null);
    }
  }
});

check(6, "a body that is too large", async () => {
  const error = await raises(OpenAI.APIError, () => create({ messages: user("a".repeat(33 << 20)) }));
  equal([error.status, error.type], [413, "invalid_request_error"]);
});

check(6, "no room at present", async () => {
  const asked = { model: "gpt-crowded", messages: user("[[stall:1]] wait") };
  const stream = (await create({ ...asked, stream: true }))[Symbol.asyncIterator]();
  holds((await stream.next()).value.id, "a first chunk");
  const error = await raises(OpenAI.InternalServerError, () => create(asked));
  equal([error.status, error.type, header(error, "retry-after")], [503, "service_unavailable", "1"]);
  await ask("release", { held: 1 });
  while (!(await stream.next()).done);
});

check(7, "retries", async () => {
  const limited = { model: "gpt-lone", messages: user("[[429]] hello") };
  const tryThrice = () => create(limited, client({ maxRetries: 2 })).catch((error) => holds([429, 503].includes(error.status), error));
  // The account is paused for as long as clients are told to wait: one that is a moment early is told 503.
  await calls(SURFACE, tryThrice, 3, [429, 503]);
  for (const [kind, asked, key, status] of [
    [OpenAI.APIError, { messages: QUESTION }, "poor", 402],
    [OpenAI.BadRequestError, { messages: [] }, "main", 400],
  ]) {
    const api = client({ key, maxRetries: 2 });
    await calls(SURFACE, () => raises(kind, () => create(asked, api)), 1, [status]);
  }
});

check(8, "an overloaded provider is hidden, and paid once", async () => {
  for (const [model, maxRetries] of [["gpt-spared", 0], ["gpt-lone-2", 2]]) {
    const bill = await Bill.open();
    looksRight(await create({ model, messages: user(`[[529:1]] hello ${model}`) }, client({ maxRetries })), model);
    const requests = await bill.expect("chat");
    equal(requests.map((request) => request.status), [529, 200]);
  }
});

check(9, "a stream that is cut", async () => {
  for (const mark of ["cut:3", "reset:3", "abort:3", "error:3"]) {
    const bill = await Bill.open();
    let text = "";
    const error = await raises(OpenAI.APIError, async () => {
      const asked = { model: "gpt-cut", messages: user(`[[${mark}]] tell me of the lighthouse`), stream: true };
      for await (const chunk of await create(asked)) text += joined([chunk]);
    });
    equal([error.type, String(error.code)], ["bad_gateway", "502"], mark);
    paid(mark, text, await bill.charged());
  }
});

check(9, "a stream without words is free", async () => {
  const bill = await Bill.open();
  const asked = { model: "gpt-cut", messages: user("[[cut:0]] hello"), stream: true };
  // Before the first event it has a status, and is of a class that is tried again.
  const error = await raises(OpenAI.InternalServerError, () => create(asked));
  equal([error.status, await bill.charged()], [502, 0]);
});

check(10, "a client that leaves pays for what the provider counts", async () => {
  const bill = await Bill.open();
  const stream = await create({ messages: user("[[stall:3]] a long story"), stream: true });
  for await (const chunk of stream) {
    holds(chunk.id, chunk);
    break;
  }
  stream.controller.abort();
  await ask("release", { held: 1 });
  const [request] = await bill.expect("chat");
  equal([request.finished, request.hung_up], [true, false], "read to its end");
});

check(11, "a slow provider", async () => {
  for (const mark of ["slow-start", "slow-event", "stall:2"]) {
    const seen = spy(": ping\n\n");
    const messages = user(`[[${mark}]] [[words:9]] one two three four five six seven eight nine`);
    const chunks = await all(create({ messages, stream: true }, client({ fetch: seen.fetch })));
    equal(joined(chunks), "you wrote: one two three four five six seven");
    holds(seen.pings, `[[${mark}]]: no keep-alive in ${seen.text}`);
  }
});

check(12, "base URLs", async () => {
  looksRight(await create({ messages: QUESTION }, client({ baseURL: `${GATEWAY}/v1/` })));
  for (const baseURL of [GATEWAY, `${GATEWAY}/v1/v1`, `${GATEWAY}/v1/chat/completions`]) {
    const error = await raises(OpenAI.NotFoundError, () => create({ messages: QUESTION }, client({ baseURL })));
    holds(error.message.includes(`the base URL is ${GATEWAY}/v1`), `${baseURL}: ${error.message}`);
  }
});

check(17, "a chat client of a model that speaks messages", async () => {
  const bill = await Bill.open();
  const call = (id, city) => ({ id, type: "function", function: { name: "weather", arguments: JSON.stringify({ city, days: 1 }) } });
  const completion = await create({
    model: "lm-sonnet-4-6",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "what is the weather?" },
      { role: "assistant", content: null, tool_calls: [call("call_1", "Oslo"), call("call_2", "Rome")] },
      { role: "tool", tool_call_id: "call_1", content: "snow" },
      { role: "tool", tool_call_id: "call_2", content: "sun" },
      { role: "user", content: "and here?" },
    ],
    tools: [WEATHER],
    max_tokens: 300,
    temperature: 1.7,
    stop: "zzz",
  });
  looksRight(completion, "lm-sonnet-4-6");
  const [{ body: sent }] = await bill.expect("messages");
  equal([sent.model, sent.max_tokens, sent.temperature, sent.stop_sequences], ["claude-sonnet-4-6", 300, 1, ["zzz"]]);
  equal(sent.messages.map((turn) => turn.role), ["user", "assistant", "user"]);
  equal(sent.messages[1].content.map((block) => [block.type, block.id, block.input.city]), [
    ["tool_use", "call_1", "Oslo"],
    ["tool_use", "call_2", "Rome"],
  ]);
  equal(sent.messages[2].content.map((block) => block.type), ["tool_result", "tool_result", "text"]);
});

check(17, "its answers, streamed", async () => {
  const model = "lm-sonnet-4-6";
  const whole = await create({ model, messages: QUESTION });
  const final = await helper({ model, messages: QUESTION }).finalChatCompletion();
  equal([final.model, final.choices[0].message.content], [model, whole.choices[0].message.content]);
  for (const [text, finish] of [["[[words:400]] go on", "length"], ["[[refusal]] go on", "content_filter"]]) {
    equal(finishes(await all(create({ model, messages: user(text), stream: true, max_tokens: 20 }))), [finish]);
  }
  const stream = helper({ model, messages: user("[[tools:2]] look"), tools: [WEATHER, HARBOUR] });
  const [choice] = (await stream.finalChatCompletion()).choices;
  equal(choice.message.tool_calls.map((call) => call.function.name), ["weather", "harbour"]);
});

check(18, "two hundred calls on one client", async () => {
  const api = client();
  await many(() => api.models.retrieve("gpt-sim"));
});

const nearness = (one, other) => one.reduce((sum, part, at) => sum + part * other[at], 0);
const TEXTS = ["a red kite over the sea", "the red kite, over a sea", "quarterly results of mining companies"];

check(24, "embeddings", async () => {
  const bill = await Bill.open();
  const found = await client().embeddings.create({ model: "embed-sim", input: TEXTS });
  equal([found.object, found.model, found.usage.prompt_tokens], ["list", "embed-sim", 17]);
  const vectors = found.data.map((item) => item.embedding);
  equal(vectors.map((vector) => vector.length), [1536, 1536, 1536]);
  holds(Math.abs(nearness(vectors[0], vectors[0]) - 1) < 1e-4, "of unit length");
  holds(nearness(vectors[0], vectors[1]) > 0.6 && nearness(vectors[0], vectors[2]) < 0.2, "near and far");
  await bill.expect("chat");
  const numbers = await client().embeddings.create({ model: "embed-sim", input: TEXTS, encoding_format: "float" });
  holds(numbers.data[2].embedding.every((part, at) => Math.abs(part - vectors[2][at]) < 1e-6), "the same numbers");
});

check(24, "embeddings of tokens, shorter", async () => {
  const one = await client().embeddings.create({ model: "embed-sim", input: [11, 12, 13], dimensions: 8, user: "ada" });
  equal([one.data.length, one.data[0].embedding.length, one.usage.prompt_tokens], [1, 8, 3]);
});

check(24, "errors of embeddings", async () => {
  const error = await raises(OpenAI.BadRequestError, () => client().embeddings.create({ model: "embed-sim", input: ["a", ""] }));
  equal([error.param, error.type], ["input[1]", "invalid_request_error"]);
  await raises(OpenAI.NotFoundError, () => client().embeddings.create({ model: "kite", input: "a" }));
});

await main("openai");
