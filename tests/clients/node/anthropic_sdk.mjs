// The @anthropic-ai/sdk package for Node against the gateway.

import Anthropic from "@anthropic-ai/sdk";

import { all, ask, Bill, calls, check, equal, GATEWAY, header, holds, KEYS, main, many, paid, PIXEL, raises, requestId, SCENE, spy } from "./checks.mjs";

const SURFACE = "messages.create";
const SONNET = "lm-sonnet-4-6";
const QUESTION = [{ role: "user", content: "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn" }];
const WEATHER = {
  name: "weather",
  description: "The weather somewhere.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 3 } },
    required: ["city", "days"],
  },
};
const HARBOUR = { name: "harbour", input_schema: { type: "object", properties: { ship: { type: "string" } } } };
const ENABLED = { type: "enabled", budget_tokens: 1024 };

const client = ({ key = "main", ...more } = {}) =>
  new Anthropic({ apiKey: KEYS[key] ?? key, baseURL: GATEWAY, maxRetries: 0, ...more });

const user = (content) => [{ role: "user", content }];

const create = (asked, api = client(), options = undefined) =>
  api.messages.create({ model: SONNET, max_tokens: 100, ...asked }, options);

const helper = (asked, api = client()) => api.messages.stream({ model: SONNET, max_tokens: 100, ...asked });

const textOf = (message) => message.content.map((block) => (block.type === "text" ? block.text : "")).join("");

const written = (events) => events.map((event) => event.delta?.text ?? "").join("");

function looksRight(message, model = SONNET) {
  equal([message.type, message.role, message.model], ["message", "assistant", model]);
  equal([message.stop_reason, message.stop_sequence], ["end_turn", null]);
  holds(message.id.startsWith("msg_") && textOf(message), message);
}

check(4, "create", async () => {
  const bill = await Bill.open();
  const message = await create({ messages: QUESTION, system: "Be brief." });
  looksRight(message);
  equal(message.usage.output_tokens, 9);
  holds(message._request_id.startsWith("req_"), message._request_id);
  const [request] = await bill.expect("messages");
  equal([request.path, request.headers["anthropic-version"]], ["/v1/messages", "2023-06-01"]);
});

check(4, "stream", async () => {
  const bill = await Bill.open();
  const whole = await create({ messages: QUESTION });
  const events = await all(create({ messages: QUESTION, stream: true }));
  equal(written(events), textOf(whole));
  const names = events.map((event) => event.type).filter((name) => name !== "content_block_delta" && name !== "ping");
  equal(names, ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]);
  equal([events[0].message.model, events.at(-2).delta.stop_reason, events.at(-2).usage.output_tokens], [SONNET, "end_turn", 9]);
  await bill.expect("messages", 2);
});

check(4, "stream helper", async () => {
  const whole = await create({ messages: QUESTION });
  const stream = helper({ messages: QUESTION });
  let deltas = "";
  stream.on("text", (delta) => (deltas += delta));
  const final = await stream.finalMessage();
  looksRight(final);
  equal([deltas, textOf(final), final.usage.output_tokens], [textOf(whole), textOf(whole), whole.usage.output_tokens]);
});

check(4, "a provider that does not stream", async () => {
  const messages = user("[[json-for-stream]] [[words:9]] one two three four five six seven eight nine");
  const asked = { max_tokens: 2000, thinking: ENABLED, messages };
  for (const [model, wire] of [[SONNET, "messages"], ["gpt-sim-reasoning", "chat"]]) {
    const whole = await create({ model, ...asked });
    const bill = await Bill.open();
    const final = await helper({ model, ...asked }).finalMessage();
    equal([textOf(final), final.stop_reason], [textOf(whole), "end_turn"]);
    equal(final.content.map((block) => block.type), whole.content.map((block) => block.type));
    holds(model !== SONNET || (final.content[0].thinking && final.content[0].signature), final);
    const [request] = await bill.expect(wire);
    equal(final.usage.output_tokens, request.usage.output);
  }
});

check(4, "tools", async () => {
  const messages = user("what is the weather in Reykjavík?");
  const tools = [WEATHER, HARBOUR];
  const first = await create({ messages, tools, tool_choice: { type: "any" } });
  const use = first.content.at(-1);
  equal([first.stop_reason, use.type, use.name], ["tool_use", "tool_use", "weather"]);
  holds(1 <= use.input.days && use.input.days <= 3, use);
  const result = { type: "tool_result", tool_use_id: use.id, content: "snow, then sun" };
  const turns = [...messages, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
  holds(textOf(await create({ messages: turns, tools })).includes("the tool said: snow, then sun"), "the tool's result");
});

check(4, "structured output, and an image", async () => {
  const format = { type: "json_schema", schema: { ...WEATHER.input_schema, additionalProperties: false } };
  const source = { type: "base64", media_type: "image/png", data: PIXEL };
  const look = [{ type: "image", source }, { type: "text", text: "look" }];
  for (const model of [SONNET, "gpt-sim"]) {
    const message = await create({ model, messages: user("a ship"), output_config: { format } });
    equal(Object.keys(JSON.parse(textOf(message))).sort(), ["city", "days"]);
    holds(textOf(await create({ model, messages: user(look) })).includes("saw image/png 1x1"), model);
  }
});

check(4, "parallel tools, streamed", async () => {
  const final = await helper({ messages: user("[[tools:2]] look"), tools: [WEATHER, HARBOUR] }).finalMessage();
  const uses = final.content.filter((block) => block.type === "tool_use");
  equal([final.stop_reason, ...uses.map((use) => use.name)], ["tool_use", "weather", "harbour"]);
  holds(1 <= uses[0].input.days && typeof uses[1].input.ship === "string", uses);
});

async function conversation(model, thinking, mark, streaming) {
  const asked = { model, max_tokens: 2000, tools: [WEATHER], ...(thinking && { thinking }) };
  const messages = user(`[[tool]]${mark} the weather, please`);
  const first = await (streaming ? helper({ messages, ...asked }).finalMessage() : create({ messages, ...asked }));
  equal([first.content[0].type, first.stop_reason], ["thinking", "tool_use"], model);
  holds(first.content[0].signature, "a signature");
  const result = { type: "tool_result", tool_use_id: first.content.at(-1).id, content: "fog" };
  const turns = [...messages, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
  return { asked, first, turns };
}

check(4, "thinking over several turns", async () => {
  for (const [model, thinking] of [
    ["lm-opus-4-5-20251101", ENABLED],
    [SONNET, ENABLED],
    ["lm-opus-4-8", { type: "adaptive" }],
    ["lm-opus-4-8", ENABLED],
    ["lm-sonnet-4-6-thinking", undefined],
  ]) {
    for (const streaming of [false, true]) {
      const { asked, first, turns } = await conversation(model, thinking, "", streaming);
      const bill = await Bill.open();
      holds(textOf(await create({ messages: turns, ...asked })).includes("the tool said: fog"), "the tool's result");
      const [request] = await bill.expect("messages");
      holds(request.text.includes(first.content[0].signature), "the signature, unchanged");
    }
  }
});

check(4, "redacted thinking", async () => {
  const { asked, first, turns } = await conversation(SONNET, ENABLED, "[[redacted]]", true);
  equal(first.content.slice(0, 2).map((block) => block.type), ["thinking", "redacted_thinking"]);
  holds(textOf(await create({ messages: turns, ...asked })).includes("the tool said: fog"), "the tool's result");
});

check(4, "a signature that was altered", async () => {
  const { asked, first, turns } = await conversation(SONNET, ENABLED, "", false);
  const { signature } = first.content[0];
  first.content[0].signature = signature.slice(0, -6) + (signature.endsWith("AAAAA=") ? "BBBBB=" : "AAAAA=");
  const error = await raises(Anthropic.BadRequestError, () => create({ messages: turns, ...asked }));
  holds(error.message.includes("Invalid `signature` in `thinking` block"), error.message);
});

check(4, "the beta namespace and its tools", async () => {
  const bill = await Bill.open();
  const message = await client().beta.messages.create({
    model: SONNET,
    max_tokens: 100,
    messages: user("[[tool]] press the button"),
    tools: [{ type: "bash_20241022", name: "bash" }],
    betas: ["computer-use-2024-10-22"],
  });
  equal([message.stop_reason, message.content.at(-1).name], ["tool_use", "bash"]);
  const [request] = await bill.expect("messages");
  equal(request.body.tools.map((tool) => tool.type), ["bash_20250124"]);
});

check(4, "models", async () => {
  const ids = (await all(client().models.list())).map((model) => model.id);
  for (const id of ["gpt-sim", SONNET, "lm-opus-4-8"]) holds(ids.includes(id), ids);
});

check(5, "which header counts", async () => {
  looksRight(await create({ messages: QUESTION }, client({ apiKey: null, authToken: KEYS.main })));
  const both = { authorization: `Bearer ${KEYS.main}`, "x-api-key": KEYS.other };
  const [main, other] = [await Bill.open("main"), await Bill.open("other")];
  looksRight(await create({ messages: QUESTION }, client({ defaultHeaders: both })));
  equal([await main.charged(), (await other.charged()) > 0], [0, true], "x-api-key pays");
  for (const wrong of [{ authorization: "Bearer sk-wrong" }, { "x-api-key": "sk-wrong" }]) {
    looksRight(await create({ messages: QUESTION }, client({ defaultHeaders: { ...both, ...wrong } })));
  }
});

// Not every class is a member of the client, and the older version has not all of them.
const older = SCENE.set === "older";
const generic = Anthropic.APIError;
const errors = older ? {} : await import("@anthropic-ai/sdk/core/error");
const ERRORS = [
  [401, Anthropic.AuthenticationError, "authentication_error", "sk-wrong", SONNET, "hello"],
  [402, errors.PaymentRequiredError ?? generic, "payment_required", "poor", SONNET, "hello"],
  [403, Anthropic.PermissionDeniedError, "permission_error", "narrow", SONNET, "hello"],
  [404, Anthropic.NotFoundError, "model_not_found", "main", "lm-nothing", "hello"],
  [413, errors.ContentTooLargeError ?? generic, "request_too_large", "main", SONNET, "[[413]] a book"],
  [429, Anthropic.RateLimitError, "rate_limited", "main", "lm-limited", "[[429]] hello"],
  [502, Anthropic.InternalServerError, "upstream_error", "main", "lm-failing", "[[500]] hello"],
  [502, Anthropic.InternalServerError, "upstream_error", "main", "lm-failing", "[[502-html]] hello"],
  [502, Anthropic.InternalServerError, "upstream_error", "main", "lm-distrusted", "[[credit]] hello"],
];

/** The messages endpoint's own shape, and the request id in every place clients look for it. */
function shape(error, code) {
  const body = error.error;
  equal([body.type, body.error.type, body.error.code], ["error", "gateway_error", code]);
  equal([body.error.details, error.errorCode], [{ error_code: code }, older ? undefined : code]);
  holds(requestId(error).startsWith("req_"), requestId(error));
  equal([requestId(error), body.request_id], [header(error, "x-gateway-request-id"), requestId(error)]);
  holds(body.error.message.endsWith(` (request id: ${requestId(error)})`), body.error.message);
}

check(6, "classes of errors", async () => {
  for (const [status, kind, code, key, model, text] of ERRORS) {
    for (const stream of [false, true]) {
      // The account is paused by the first; 503 is another row's business.
      if (stream && status === 429) continue;
      const error = await raises(kind, () => create({ model, messages: user(text), stream }, client({ key })));
      equal(error.status, status, text);
      shape(error, code);
      const final = status < 429 || model.endsWith("-distrusted");
      equal(header(error, "x-should-retry"), final ? "false" : null);
    }
  }
});

check(6, "a body that is too large", async () => {
  const kind = errors.ContentTooLargeError ?? generic;
  shape(await raises(kind, () => create({ messages: user("a".repeat(33 << 20)) })), "request_too_large");
});

check(6, "no room at present", async () => {
  const asked = { model: "lm-crowded", messages: user("[[stall:1]] wait") };
  const stream = (await create({ ...asked, stream: true }))[Symbol.asyncIterator]();
  equal((await stream.next()).value.type, "message_start");
  const error = await raises(errors.ServiceUnavailableError ?? Anthropic.InternalServerError, () => create(asked));
  shape(error, "upstream_unavailable");
  equal([error.status, header(error, "retry-after")], [503, "1"]);
  await ask("release", { held: 1 });
  while (!(await stream.next()).done);
});

check(7, "retries", async () => {
  const limited = { model: "lm-lone", messages: user("[[429]] hello") };
  const tryThrice = () => create(limited, client({ maxRetries: 2 })).catch((error) => holds([429, 503].includes(error.status), error));
  // The account is paused for as long as clients are told to wait: one that is a moment early is told 503.
  await calls(SURFACE, tryThrice, 3, [429, 503]);
  for (const [kind, asked, key, status] of [
    [errors.PaymentRequiredError ?? generic, { messages: QUESTION }, "poor", 402],
    [Anthropic.BadRequestError, { messages: [] }, "main", 400],
  ]) {
    const api = client({ key, maxRetries: 2 });
    await calls(SURFACE, () => raises(kind, () => create(asked, api)), 1, [status]);
  }
});

check(8, "an overloaded provider is hidden, and paid once", async () => {
  for (const [model, maxRetries] of [["lm-spared", 0], ["lm-lone-2", 2]]) {
    const bill = await Bill.open();
    looksRight(await create({ model, messages: user(`[[529:1]] hello ${model}`) }, client({ maxRetries })), model);
    const requests = await bill.expect("messages");
    equal(requests.map((request) => request.status), [529, 200]);
  }
});

check(9, "a stream that is cut", async () => {
  for (const mark of ["cut:3", "reset:3", "abort:3", "error:3", "no-end"]) {
    const bill = await Bill.open();
    let text = "";
    const error = await raises(generic, async () => {
      const asked = { model: "lm-cut", messages: user(`[[${mark}]] tell me of the lighthouse`), stream: true };
      for await (const event of await create(asked)) text += written([event]);
    });
    shape(error, "upstream_error");
    paid(mark, text, await bill.charged());
  }
});

check(9, "the helper says so too", async () => {
  await raises(generic, () => helper({ model: "lm-cut", messages: user("[[cut:3]] tell me of the sea") }).finalMessage());
});

check(9, "a stream without words is free", async () => {
  const bill = await Bill.open();
  const asked = { model: "lm-cut", messages: user("[[cut:0]] hello"), stream: true };
  // Before the first event it has a status, and is of a class that is tried again.
  const error = await raises(Anthropic.InternalServerError, () => create(asked));
  equal([error.status, await bill.charged()], [502, 0]);
});

check(10, "a client that leaves pays for what the provider counts", async () => {
  const bill = await Bill.open();
  const stream = helper({ messages: user("[[stall:3]] a long story") });
  for await (const event of stream) {
    holds(event.type, event);
    break;
  }
  stream.abort();
  await ask("release", { held: 1 });
  const [request] = await bill.expect("messages");
  equal([request.finished, request.hung_up], [true, false], "read to its end");
});

check(11, "a slow provider", async () => {
  const [comment, event] = [": ping\n\n", 'event: ping\ndata: {"type": "ping"}\n\n'];
  for (const [mark, ping] of [["slow-start", comment], ["slow-event", comment], ["stall:2", event]]) {
    const seen = spy(ping);
    const messages = user(`[[${mark}]] [[words:9]] one two three four five six seven eight nine`);
    const final = await helper({ messages }, client({ fetch: seen.fetch })).finalMessage();
    equal(textOf(final), "you wrote: one two three four five six seven");
    holds(seen.pings, `[[${mark}]]: no keep-alive in ${seen.text}`);
  }
});

check(12, "base URLs", async () => {
  looksRight(await create({ messages: QUESTION }, client({ baseURL: `${GATEWAY}/` })));
  for (const baseURL of [`${GATEWAY}/v1`, `${GATEWAY}/v1/v1`, `${GATEWAY}/v1/messages`]) {
    const error = await raises(Anthropic.NotFoundError, () => create({ messages: QUESTION }, client({ baseURL })));
    shape(error, "not_found");
    holds(error.message.includes(`the base URL is ${GATEWAY} (`), error.message);
  }
});

check(13, "counting tokens", async () => {
  const asked = { model: SONNET, messages: QUESTION };
  shape(await raises(Anthropic.NotFoundError, () => client().messages.countTokens(asked)), "not_found");
});

check(14, "what is refused", async () => {
  for (const [words, asked] of [
    ["stop_sequences", { stop_sequences: ["a", "b", "c", "d", "e"] }],
    ["max_tokens", { max_tokens: 0 }],
    ["cannot both be specified", { temperature: 0.5, top_p: 0.5 }],
    ["tools.0", { tools: [{ type: "hammer_20990101", name: "hammer" }] }],
    ["frobnicate: Extra inputs are not permitted", { frobnicate: 1 }],
  ]) {
    const bill = await Bill.open();
    const error = await raises(Anthropic.BadRequestError, () => create({ messages: QUESTION, ...asked }));
    shape(error, "invalid_request");
    holds(error.message.includes(words), `${words}: ${error.message}`);
    equal([await bill.charged(), await bill.received("messages")], [0, []], "judged by the gateway itself");
  }
});

check(15, "the version header changes nothing", async () => {
  for (const model of ["lm-opus-4-7", "lm-opus-4-8"]) {
    for (const version of ["2023-06-01", "2026-10-21"]) {
      const bill = await Bill.open();
      const asked = { model, messages: QUESTION, temperature: 0.3, top_k: 5 };
      looksRight(await create(asked, client(), { headers: { "anthropic-version": version } }), model);
      const [request] = await bill.expect("messages");
      equal([request.body.temperature, request.body.top_k], [undefined, undefined], "sampling is dropped");
      equal(request.headers["anthropic-version"], "2023-06-01");
    }
  }
});

check(17, "a messages client of a model that speaks chat", async () => {
  const bill = await Bill.open();
  const use = (id, city) => ({ type: "tool_use", id, name: "weather", input: { city, days: 1 } });
  const result = (tool_use_id, content) => ({ type: "tool_result", tool_use_id, content });
  const message = await create({
    model: "gpt-sim",
    system: "Be brief.",
    messages: [
      { role: "user", content: "what is the weather?" },
      { role: "assistant", content: [{ type: "text", text: "I shall look." }, use("toolu_1", "Oslo"), use("toolu_2", "Rome")] },
      { role: "user", content: [result("toolu_1", "snow"), result("toolu_2", "sun"), { type: "text", text: "and here?" }] },
    ],
    tools: [WEATHER],
    stop_sequences: ["zzz"],
  });
  looksRight(message, "gpt-sim");
  const [{ body: sent }] = await bill.expect("chat");
  equal([sent.model, sent.max_completion_tokens, sent.stop], ["gpt-sim", 100, ["zzz"]]);
  equal(sent.messages.map((turn) => turn.role), ["system", "user", "assistant", "tool", "tool", "user"]);
  const spoken = sent.messages[2];
  equal([spoken.content, ...spoken.tool_calls.map((call) => call.id)], ["I shall look.", "toolu_1", "toolu_2"]);
});

check(17, "its answers, streamed", async () => {
  const model = "gpt-sim";
  const whole = await create({ model, messages: QUESTION });
  const final = await helper({ model, messages: QUESTION }).finalMessage();
  looksRight(final, model);
  equal([textOf(final), final.usage.output_tokens], [textOf(whole), 9]);
  const tooled = await helper({ model, messages: user("[[interleaved]] look"), tools: [WEATHER, HARBOUR] }).finalMessage();
  const uses = tooled.content.filter((block) => block.type === "tool_use");
  equal([tooled.stop_reason, ...uses.map((use) => use.name)], ["tool_use", "weather", "harbour"]);
});

check(18, "two hundred calls on one client", async () => {
  const api = client();
  await many(() => api.models.retrieve(SONNET));
});

check(19, "a key that is refused", async () => {
  for (const key of ["sk-wrong", "nonsense"]) {
    const error = await raises(Anthropic.AuthenticationError, () => create({ messages: QUESTION }, client({ key })));
    shape(error, "authentication_error");
  }
});

await main("@anthropic-ai/sdk");
