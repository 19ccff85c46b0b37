// The openai package for Node as the receiver of webhooks: prints for each post the type of its event, or "refused".

import { text } from "node:stream/consumers";

import OpenAI from "openai";

const { posts, secret } = JSON.parse(await text(process.stdin));
// The key of the API has no part in this.
const client = new OpenAI({ apiKey: "none", webhookSecret: secret });

for (const { body, headers } of posts) {
  try {
    const event = await client.webhooks.unwrap(body, headers);
    console.log(event.type);
  } catch (error) {
    const known = error instanceof OpenAI.InvalidWebhookSignatureError || /header/i.test(error.message);
    console.log(known ? "refused" : `${error.name}: ${error.message}`);
  }
}
