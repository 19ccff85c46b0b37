// The Vercel AI SDK against the gateway: each of its providers with models of either protocol.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { check, equal, GATEWAY, holds, KEYS, main, PIXEL } from "./checks.mjs";

const MODELS = ["lm-sonnet-4-6", "lm-opus-4-8", "gpt-sim"];
const base = { baseURL: `${GATEWAY}/v1`, apiKey: KEYS.bare };
const anthropic = createAnthropic(base);
const openai = createOpenAI(base);
const compatible = createOpenAICompatible({ ...base, name: "gateway", supportsStructuredOutputs: true });

/** Each provider with each model; a compatible server is also one that knows older fields only. */
const CROSSINGS = [
  ...MODELS.map((id) => ["anthropic", id, anthropic(id)]),
  ...MODELS.map((id) => ["openai", id, openai.chat(id)]),
  // Its default: responses.
  ...MODELS.map((id) => ["responses", id, openai(id)]),
  ...[...MODELS, "clone-sim"].map((id) => ["compatible", id, compatible(id)]),
];

const weather = tool({
  description: "The weather somewhere.",
  inputSchema: z.object({ city: z.string(), days: z.number().int().min(1).max(3), unit: z.string().optional() }),
  execute: async ({ city, days }) => `rain in ${city} for ${days}`,
});

const harbour = tool({
  description: "Where a ship lies.",
  inputSchema: z.object({ ship: z.string() }),
  execute: async ({ ship }) => `${ship} is at the pier`,
});

const each = async (run) => {
  for (const [provider, id, model] of CROSSINGS) {
    try {
      await run({ model, maxRetries: 0, maxOutputTokens: 400 }, provider, id);
    } catch (error) {
      error.message = `${provider} with ${id}: ${error.message}`;
      throw error;
    }
  }
};

check(20, "generateText", () =>
  each(async (asked) => {
    const { text, finishReason, usage } = await generateText({ ...asked, prompt: "[[words:9]] a kite over the lighthouse" });
    equal([finishReason, text.split(/\s+/).length], ["stop", 9]);
    holds(usage.inputTokens > 0 && usage.outputTokens >= 9, usage);
  }));

check(20, "streamText", () =>
  each(async (asked) => {
    const errors = [];
    const stream = streamText({ ...asked, prompt: "[[words:9]] a kite over the lighthouse", onError: ({ error }) => errors.push(error) });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    equal(errors, []);
    equal([await stream.finishReason, text.split(/\s+/).length], ["stop", 9]);
  }));

const loop = { tools: { weather }, stopWhen: stepCountIs(6), prompt: "what will the weather be in Lisbon?" };

check(21, "generateText", () =>
  each(async (asked) => {
    const { steps, text } = await generateText({ ...asked, ...loop });
    equal(steps.length, 2);
    holds(text.includes("the tool said: rain in"), text);
  }));

check(21, "streamText", () =>
  each(async (asked) => {
    const stream = streamText({ ...asked, ...loop });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    equal((await stream.steps).length, 2);
    holds(text.includes("the tool said: rain in"), text);
  }));

// One step: the client takes an answer without a call for a violation here, also after a result.
check(21, "a tool is required", () =>
  each(async (asked) => {
    const once = { ...loop, stopWhen: stepCountIs(1), toolChoice: "required", prompt: "hello" };
    const { steps } = await generateText({ ...asked, ...once });
    equal([steps.length, steps[0].toolCalls.length], [1, 1]);
  }));

check(22, "an object", () =>
  each(async (asked, provider, id) => {
    // This server is one that does not know schemas; the client describes them in its prompt.
    if (id === "clone-sim") return;
    const schema = z.object({ name: z.string(), parts: z.array(z.object({ count: z.number().int() })), note: z.string().nullable() });
    const { output } = await generateText({ ...asked, output: Output.object({ schema }), prompt: "Describe a kite as json." });
    equal(typeof output.name, "string", provider);
    holds(output.parts.every((part) => Number.isInteger(part.count)), output);
  }));

check(33, "parallel tools", () =>
  each(async (asked) => {
    const { steps, text } = await generateText({ ...asked, ...loop, tools: { weather, harbour }, prompt: "[[tools:2]] look" });
    equal(steps[0].toolCalls.map((call) => call.toolName), ["weather", "harbour"]);
    holds(text.includes("the tool said"), text);
  }));

check(33, "an image", () =>
  each(async (asked, provider, id) => {
    if (id === "clone-sim") return;
    const content = [{ type: "text", text: "what is this?" }, { type: "file", data: PIXEL, mediaType: "image/png" }];
    const { text } = await generateText({ ...asked, messages: [{ role: "user", content }] });
    holds(text.includes("saw image/png 1x1"), text);
  }));

check(33, "embeddings", async () => {
  for (const model of [openai.embedding("embed-sim"), compatible.textEmbeddingModel("embed-sim")]) {
    const { embeddings, usage } = await embedMany({ model, values: ["a red kite", "a lighthouse"], maxRetries: 0 });
    equal([embeddings.map((vector) => vector.length), usage.tokens], [[1536, 1536], 5]);
  }
});

await main("ai");
