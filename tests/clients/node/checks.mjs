// What the Node scripts share: checks by row, questions to the stage, and a spy on the wire.
//
// A check is a function with the number of its row in the table of rows (see main.rs). The stage is the test that
// started this script: a line that begins with "? " is a question to it, answered by one line of JSON.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

export const SCENE = JSON.parse(process.env.GATEHOUSE_SCENE);
export const GATEWAY = SCENE.gateway;
export const KEYS = SCENE.keys;

/** A picture of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const checks = [];
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Registers a check of that row. */
export function check(row, name, run) {
  checks.push({ row, name, run });
}

/** Runs every check, or those whose row or name the arguments give; leaves with 1 if one failed. */
export async function main(name) {
  const installed = new URL(`node_modules/${name}/package.json`, import.meta.url);
  console.log(`sdk ${JSON.parse(readFileSync(installed)).version}`);
  const wanted = process.argv.slice(2);
  let failed = 0;
  for (const { row, name, run } of checks) {
    if (wanted.length && !wanted.includes(String(row)) && !wanted.includes(name)) continue;
    try {
      await run();
      console.log(`ok ${row} ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok ${row} ${name}\n${error.stack ?? error}`);
    }
  }
  process.exit(failed ? 1 : 0);
}

/** Asks the stage. */
export async function ask(question, more = {}) {
  console.log(`? ${JSON.stringify({ ask: question, ...more })}`);
  return JSON.parse((await answers.next()).value);
}

export function holds(condition, about) {
  assert.ok(condition, typeof about === "string" ? about : JSON.stringify(about));
}

export const equal = assert.deepEqual;

/** Expects exactly that class of error and gives it back. */
export async function raises(kind, run) {
  let result;
  try {
    result = await run();
  } catch (error) {
    assert.equal(error.constructor, kind, `expected ${kind.name}, got ${error.constructor.name}: ${error.stack}`);
    return error;
  }
  throw new Error(`expected ${kind.name}, got ${JSON.stringify(result)}`);
}

/** A stream to its end. */
export async function all(stream) {
  const found = [];
  for await (const item of await stream) found.push(item);
  return found;
}

/** Two hundred calls in a row; with GATEHOUSE_CLIENTS_PAUSES set, every one after a pause of 4 to 6 seconds, about as long
 *  as clients keep connections. */
export async function many(call) {
  for (let number = 0; number < 200; number += 1) {
    if ("GATEHOUSE_CLIENTS_PAUSES" in process.env) await setTimeout(4000 + (number % 5) * 500);
    await call();
  }
}

/** What an account is charged between two moments, and what the providers counted meanwhile. */
export class Bill {
  static async open(account = "main") {
    const bill = new Bill();
    bill.account = account;
    bill.before = (await ask("settled", { name: account })).spent;
    bill.since = {};
    for (const wire of ["messages", "chat"]) bill.since[wire] = (await ask("record", { wire, since: 1e9 })).count;
    return bill;
  }

  /** Micro-credits, once nothing is held any more. */
  async charged() {
    const after = await ask("settled", { name: this.account });
    equal(after.reserved, 0, "still held");
    return after.spent - this.before;
  }

  /** The provider's requests since then. */
  async received(wire) {
    return (await ask("record", { wire, since: this.since[wire] })).requests;
  }

  /** So many answers were given, and exactly what they cost is charged. */
  async expect(wire, usages = 1) {
    const charged = await this.charged();
    const requests = await this.received(wire);
    const used = requests.filter((request) => request.usage);
    equal(used.length, usages, `answers the provider billed, of ${requests.map((request) => request.status)}`);
    equal(charged, used.reduce((sum, request) => sum + cost(request.usage), 0), "charged");
    return requests;
  }
}

/** By the prices in scene.rs: 2 an input token, 1 cached, 3 written to a cache, 5 an output token. */
function cost(usage) {
  return 2 * usage.input + usage.cache_read + 3 * (usage.cache_write_5m + usage.cache_write_1h) + 5 * usage.output;
}

/** Expects the gateway to answer exactly so many requests, all with one of these statuses, while it runs. */
export async function calls(surface, run, expected, either) {
  const above = await ask("requests", { surface });
  await run();
  const found = await ask("requests", { surface, above, until: expected });
  equal(Object.values(found).reduce((sum, count) => sum + count, 0), expected, JSON.stringify(found));
  for (const status of Object.keys(found)) holds(either.includes(Number(status)), JSON.stringify(found));
}

/** What arrived is paid as if it had been counted, and nothing is asked for nothing. A reset may overtake all. */
export function paid(mark, text, charged) {
  holds(text || mark.startsWith("reset"), `[[${mark}]]: nothing arrived`);
  const least = 5 * Math.ceil(Buffer.byteLength(text) / 4);
  const most = text ? least + 2 * 100 : 0;
  holds(least <= charged && charged <= most, `[[${mark}]]: ${charged} for ${text}, expected ${least} to ${most}`);
}

/** A `fetch` that watches an answer's bytes; at every keep-alive it has the stage let go. */
export function spy(ping) {
  const seen = { text: "", pings: 0 };
  const decoder = new TextDecoder();
  const watch = new TransformStream({
    async transform(chunk, controller) {
      controller.enqueue(chunk);
      seen.text += decoder.decode(chunk, { stream: true });
      const found = seen.text.split(ping).length - 1;
      if (found > seen.pings) {
        seen.pings = found;
        await ask("release");
      }
    },
  });
  seen.fetch = async (url, init) => {
    const answer = await fetch(url, init);
    const { status, statusText, headers } = answer;
    return new Response(answer.body.pipeThrough(watch), { status, statusText, headers });
  };
  return seen;
}

/** A header's value in whatever form this version keeps headers. */
export function header(error, name) {
  const headers = error.headers;
  return (typeof headers.get === "function" ? headers.get(name) : headers[name]) ?? null;
}

/** The request id in whatever form this version keeps it. */
export function requestId(error) {
  return error.requestID ?? error.request_id;
}
