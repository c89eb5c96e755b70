import {
  capabilitiesOf,
  type Generation,
  parseTenantId,
  SIM_CAPABILITIES,
  slotsSubject,
} from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { authorization, call, KEYS, openPlatform, type Platform } from "../testing/platform.ts";

const SERVED = new Map([
  ["sim", { engine: "sim", capabilities: SIM_CAPABILITIES }],
  ["gpt", { engine: "openai", capabilities: capabilitiesOf("openai") }],
  ["seeing", { engine: "openai", capabilities: capabilitiesOf("openai", { images: true }) }],
] as const);
const PNG = "data:image/png;base64,iVBORw0KGgo=";
const TOOLS = [{ name: "look_up" }];

const open = () => openPlatform({ served: SERVED, models: new Set([...SERVED.keys(), "unknown"]) });

function create({ node }: Platform, body: object, headers: Record<string, string> = {}) {
  return call(`${node.url}/v1/generations`, { body: { model: "gpt", input: "Hi", ...body }, headers });
}

/** The stored request of a generation. */
async function stored({ log }: Platform, { id }: Generation): Promise<Record<string, unknown>> {
  const first = await log.reader.readFirst({ tenant: parseTenantId("acme"), generation: id as never });
  return JSON.parse(Buffer.from(first!.payload).toString()) as Record<string, unknown>;
}

describe("a create", () => {
  test("with messages, tools and a form of the answer is stored whole, with what it needs", async () => {
    await using platform = await open();
    const body = {
      input: [
        { role: "user", content: [{ type: "text", text: "What is a log?" }] },
        { role: "assistant", tool_calls: [{ call_id: "c", name: "look_up", arguments: "{}" }] },
        { role: "tool", call_id: "c", output: { found: true } },
      ],
      tools: TOOLS,
      tool_choice: "none",
      logprobs: 2,
      response_format: { type: "json_schema", schema: { type: "object" }, strict: true },
    };
    const { status, json } = await create(platform, body);
    expect(status).toBe(201);
    expect(await stored(platform, json as Generation)).toMatchObject({
      request: { model: "gpt", ...body },
      needs: ["logprobs", "tool_choice", "json_schema", "tool_history", "content_parts"],
    });
  });

  test("of a text says nothing of needs: its stored request is as it was", async () => {
    await using platform = await open();
    const { json } = await create(platform, { tools: TOOLS, temperature: 0 });
    const event = await stored(platform, json as Generation);
    expect(Object.keys(event)).toEqual([
      "seq",
      "type",
      "tenant",
      "generation",
      "created_at",
      "request",
      "events",
      "policy",
    ]);
    expect(event["request"]).toEqual({ model: "gpt", input: "Hi", tools: TOOLS, temperature: 0 });
  });

  test.each([
    [{ top_k: 5 }, "capability_unsupported", "top_k"],
    [
      { input: [{ role: "user", content: [{ type: "image", url: PNG }] }] },
      "capability_unsupported",
      "input.0.content.0",
    ],
    [
      {
        model: "seeing",
        input: [{ role: "user", content: [{ type: "image", url: "https://example.com/a.png" }] }],
      },
      "capability_unsupported",
      "input.0.content.0.url",
    ],
    [{ options: { stream: false } }, "invalid_request", "options.stream"],
    [{ model: "sim", options: { tokens: "many" } }, "invalid_request", "options.tokens"],
    [{ top_p: 0.5, options: { top_p: 1 } }, "invalid_request", "options.top_p"],
  ])("that the model can't run is refused by name, and nothing is stored: %j", async (body, code, param) => {
    await using platform = await open();
    const headers = { "idempotency-key": "once" };
    const { status, json } = await create(platform, body, headers);
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { code, param, retryable: false } });
    // The key is still free.
    expect((await create(platform, {}, headers)).status).toBe(201);
  });

  test("of an engine that this node does not know is left to the worker", async () => {
    await using platform = await open();
    const { status, json } = await create(platform, {
      model: "unknown",
      top_k: 5,
      options: { stream: false },
    });
    expect(status).toBe(201);
    expect(await stored(platform, json as Generation)).toMatchObject({ needs: ["top_k"] });
  });

  test("joins a generation whose model can no longer do what it was asked for", async () => {
    await using platform = await open();
    const headers = { "idempotency-key": "once" };
    const first = await create(
      platform,
      { model: "seeing", input: [{ role: "user", content: [{ type: "image", url: PNG }] }] },
      headers,
    );
    platform.node.delivery.setNames({
      models: new Set(["seeing"]),
      served: new Map([["seeing", { engine: "openai", capabilities: capabilitiesOf("openai") }]]),
    });
    const again = await create(
      platform,
      { model: "seeing", input: [{ role: "user", content: [{ type: "image", url: PNG }] }] },
      headers,
    );
    expect([first.status, again.status]).toEqual([201, 200]);
  });
});

describe("while workers of two versions run", () => {
  /** Announces a worker as the worker itself would. */
  const announce = ({ broker }: Platform, worker: string, slots: number, capabilities?: string[]) => {
    const text = JSON.stringify({ worker, slots, running: {}, capabilities });
    broker.main.publish(slotsSubject("gpt"), text);
    return broker.main.flush();
  };

  test("a request that the older one would take only a part of waits for newer ones; a plain one does not", async () => {
    await using platform = await open();
    await announce(platform, "old", 1);
    await announce(platform, "new", 1, ["top_p"]);
    const { status, headers, json } = await create(platform, { top_p: 0.5 });
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("2");
    expect(json).toMatchObject({ error: { code: "request_unsupported", retryable: true } });
    expect((await create(platform, { tools: TOOLS, temperature: 0 })).status).toBe(201);
    await announce(platform, "old", 0);
    await announce(platform, "new", 1, ["top_p"]);
    await expect.poll(async () => (await create(platform, { top_p: 0.5 })).status).toBe(201);
  });
});

test("what each worker of a model says that its server can do, the model can do", async () => {
  await using platform = await open();
  const announce = (worker: string, ...capabilities: string[]) => {
    const text = JSON.stringify({ worker, slots: 1, running: {}, capabilities });
    platform.broker.main.publish(slotsSubject("gpt"), text);
  };
  const seen = { input: [{ role: "user", content: [{ type: "image", url: PNG }] }] };
  announce("one", "images", "content_parts");
  await expect.poll(async () => (await create(platform, seen)).status).toBe(201);
  const listed = (await call(`${platform.node.url}/v1/models`)).json as {
    data: { capabilities: string[] }[];
  };
  expect(listed.data[0]!.capabilities).toContain("images");
  announce("other", "content_parts");
  await expect.poll(async () => (await create(platform, seen)).status).toBe(400);
});

test("what its workers say of a model's context the list of models says, unless the models file says it", async () => {
  const SMALL = { ...SERVED.get("sim")!, contextTokens: 512 };
  await using platform = await openPlatform({
    served: new Map([...SERVED, ["sim", SMALL]]),
    models: new Set(["gpt", "sim"]),
  });
  for (const model of ["gpt", "sim"]) {
    const text = JSON.stringify({
      worker: "w",
      slots: 1,
      running: {},
      capabilities: [],
      contextTokens: 8_192,
    });
    platform.broker.main.publish(slotsSubject(model), text);
  }
  const listed = async () => {
    const { json } = await call(`${platform.node.url}/v1/models`);
    return (json as { data: { context_tokens?: number }[] }).data.map((model) => model.context_tokens);
  };
  await expect.poll(listed).toEqual([8_192, 512]);
});

test("the list of models says what each can do, to keys that create or read", async () => {
  await using platform = await open();
  const url = `${platform.node.url}/v1/models`;
  const { status, json } = await call(url);
  expect(status).toBe(200);
  const { data } = json as { data: { id: string; capabilities?: string[] }[] };
  expect(data.map(({ id }) => id)).toEqual(["gpt", "seeing", "sim", "unknown"]);
  const [gpt, seeing, , unknown] = data;
  expect(seeing!.capabilities!.filter((name) => !gpt!.capabilities!.includes(name))).toEqual(["images"]);
  expect(unknown).toEqual({ id: "unknown", object: "model", created: 0, owned_by: "reprise" });
  const canceller = await call(url, { headers: authorization(KEYS.acmeCanceller) });
  expect(canceller.status).toBe(403);
});
