import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient, type GenerationEvent, type GenerationRequest } from "@reprise/client";
import { conversationsOf } from "@reprise/client/conversations";
import { createSseDecoder } from "@reprise/protocol/wire";
import { createTempDir } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster } from "../e2e/testing/cluster.ts";
import { type EngineServer, startServer } from "./server/start.ts";

/** The platform's name of the server's model. */
const MODEL = "random";

const FUNCTION = {
  name: "look_up",
  description: "A dictionary.",
  parameters: { type: "object", properties: { word: { type: "string" } } },
};
const SCHEMA = {
  type: "object",
  properties: { n: { type: "integer" }, ok: { type: "boolean" } },
  required: ["n", "ok"],
};

/** The fields of a direct call, and those of the same request to the platform. */
const CASES: Record<string, [direct: object, native: Partial<GenerationRequest>]> = {
  "a text": [{}, {}],
  "messages with parts": [
    {
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
      ],
    },
    {
      input: [
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
      ],
    },
  ],
  "a history with calls, answers and thoughts": [
    {
      messages: [
        { role: "user", content: "What is a log?" },
        {
          role: "assistant",
          content: null,
          reasoning_content: "I look it up.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "look_up", arguments: '{"word": "log"}' } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: '{"found":"a place"}' },
        { role: "user", content: "And?" },
      ],
      tools: [{ type: "function", function: FUNCTION }],
      tool_choice: "auto",
    },
    {
      input: [
        { role: "user", content: "What is a log?" },
        {
          role: "assistant",
          reasoning: "I look it up.",
          tool_calls: [{ call_id: "c1", name: "look_up", arguments: '{"word": "log"}' }],
        },
        { role: "tool", call_id: "c1", output: { found: "a place" } },
        { role: "user", content: "And?" },
      ],
      tools: [FUNCTION],
      tool_choice: "auto",
    },
  ],
  "no tools to be called": [
    { tools: [{ type: "function", function: FUNCTION }], tool_choice: "none" },
    { tools: [FUNCTION], tool_choice: "none" },
  ],
  "a schema": [
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "response", schema: SCHEMA, strict: true },
      },
    },
    { response_format: { type: "json_schema", schema: SCHEMA, strict: true } },
  ],
  top_k: [
    { temperature: 0.8, top_k: 3 },
    { temperature: 0.8, top_k: 3 },
  ],
  repetition_penalty: [{ repeat_penalty: 1.8 }, { repetition_penalty: 1.8 }],
  logit_bias: [{ logit_bias: { 300: 40 } }, { logit_bias: { 300: 40 } }],
  "an effort": [{ chat_template_kwargs: { reasoning_effort: "low" } }, { reasoning: { effort: "low" } }],
};

const COMMON = { temperature: 0, seed: 7 };
const MAX_TOKENS = 40;
const REQUEST = { model: MODEL, input: "Say something.", max_output_tokens: MAX_TOKENS, ...COMMON };
const DIRECT = {
  messages: [{ role: "user", content: "Say something." }],
  max_tokens: MAX_TOKENS,
  ...COMMON,
};

let engine: EngineServer;
let platform: Platform;
beforeAll(async () => {
  engine = await startServer();
  platform = await startPlatformAt(engine.baseUrl);
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
});

describe("through the platform", () => {
  test("returns the text of a direct call for each field, byte for byte", async () => {
    const { generations } = platform.client;
    const texts = new Map<string, string>();
    for (const [name, [direct, native]] of Object.entries(CASES)) {
      const outcome = await generations.run({ ...REQUEST, ...native }).done();
      const { text: expected } = await callDirectly({ ...DIRECT, ...direct });
      expect({ name, status: outcome.status, text: outcome.text }).toEqual({
        name,
        status: "completed",
        text: expected,
      });
      texts.set(name, expected);
    }
    // A field that changes nothing compares nothing.
    const plain = texts.get("a text");
    const changed = [...texts].filter(([, text]) => text !== plain).map(([name]) => name);
    expect(changed).toEqual(
      expect.arrayContaining([
        "messages with parts",
        "a history with calls, answers and thoughts",
        "a schema",
        "top_k",
        "repetition_penalty",
        "logit_bias",
      ]),
    );
  });

  test.each([0, 2])("logprobs: %i returns a direct call's tokens and numbers", async (logprobs) => {
    const direct = { ...DIRECT, logprobs: true, top_logprobs: Math.max(1, logprobs) };
    const stream = platform.client.generations.run({ ...REQUEST, logprobs });
    const told: Told = [];
    for await (const event of stream) if (event.type === "output.delta") told.push(...(event.logprobs ?? []));
    const expected = await callDirectly(direct);
    expect(stream.text).toBe(expected.text);
    expect(told).toEqual(
      expected.logprobs.map(({ top_logprobs: top, ...token }) => ({
        ...toLikely(token),
        ...(logprobs > 0 && { top: top.map(toLikely) }),
      })),
    );
  });

  test("a conversation's next prompt finds the one before it in the server's cache", async () => {
    const { id: conversation } = await conversationsOf(platform.client).create({});
    let before = 0;
    for (const input of ["time year people way", "place case week company", "night point home water"]) {
      const { usage } = await platform.client.generations.run({ ...REQUEST, conversation, input }).done();
      expect(usage.cached_input_tokens).toBeGreaterThanOrEqual(before);
      before = usage.input_tokens ?? 0;
    }
  });
});

type Told = NonNullable<Extract<GenerationEvent, { type: "output.delta" }>["logprobs"]>;

interface Likely {
  readonly token: string;
  readonly logprob: number;
}

interface DirectToken extends Likely {
  readonly top_logprobs: readonly Likely[];
}

interface Choice {
  readonly delta?: { readonly content?: string | null };
  readonly logprobs?: { readonly content: readonly DirectToken[] };
}

/** The last digits depend on the server's cache. */
function toLikely({ token, logprob }: Likely): Likely {
  return { token, logprob: expect.closeTo(logprob, 4) as number };
}

async function callDirectly(body: object): Promise<{ text: string; logprobs: DirectToken[] }> {
  const response = await fetch(`${engine.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "random", stream: true, ...body }),
  });
  const decoder = createSseDecoder();
  let text = "";
  const logprobs: DirectToken[] = [];
  for await (const bytes of response.body!) {
    for (const { data } of decoder.push(bytes)) {
      if (data === "[DONE]") continue;
      const [choice] = (JSON.parse(data) as { choices?: Choice[] }).choices ?? [];
      text += choice?.delta?.content ?? "";
      logprobs.push(...(choice?.logprobs?.content ?? []));
    }
  }
  return { text, logprobs };
}

interface Platform extends AsyncDisposable {
  readonly client: Client;
}

/** A broker, a delivery node and a worker, whose model is a llama-server's. */
async function startPlatformAt(baseUrl: string): Promise<Platform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster());
  const dir = stack.use(await createTempDir("models"));
  const file = join(dir.path, "models.json");
  const model = { engine: "openai", base_url: baseUrl, upstream_model: "random", dialect: "llama.cpp" };
  await writeFile(file, JSON.stringify({ models: { [MODEL]: model } }));
  const env = { REPRISE_MODELS_FILE: file };
  const [{ url }] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const key = cluster.keys["acme"]!;
  const client = createClient({ url, apiKey: key });
  // The node answers once it knows the model's capabilities.
  await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const begun = stack.move();
  return { client, [Symbol.asyncDispose]: () => begun.disposeAsync() };
}
