import {
  asStreamSeq,
  type Generation,
  type GenerationRef,
  parseGenerationId,
  parseTenantId,
} from "@reprise/protocol";
import { openJobs } from "@reprise/jobs";
import { Appender, logErasure } from "@reprise/stream";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { decide, halted, judge } from "../testing/moderation.ts";
import {
  append,
  call,
  KEYS,
  openPlatform,
  openWorker,
  type Node,
  type Platform,
  toolCall,
} from "../testing/platform.ts";

let platform: Platform;
let other: Node;
beforeAll(async () => {
  platform = await openPlatform();
  other = await platform.addNode();
});
afterAll(async () => platform[Symbol.asyncDispose]());

const REQUEST = { model: "external", input: "hello" };
const said = (text: string) => ({ type: "output.delta", text });
const END = { type: "generation.completed" };

interface Grant {
  readonly token: string;
  readonly epoch: number;
  readonly nonce: string;
  readonly next: number;
  readonly text_length: number;
  readonly silence_ms: number;
}
type Created = Generation & { readonly producer?: Grant };

/** A generation whose producer sends its output, with its token, to the node of each call. */
async function open({ body = {}, headers = {} }: { body?: object; headers?: Record<string, string> } = {}) {
  const created = await call(`${platform.node.url}/v1/generations`, {
    body: { ...REQUEST, ...body },
    headers,
  });
  expect(created).toMatchObject({ status: 201 });
  const { id, producer } = created.json as Created;
  const ref: GenerationRef = { tenant: parseTenantId("acme"), generation: parseGenerationId(id) };
  const grant = producer!;
  const path = `/v1/generations/${id}`;
  const output = (sent: object, { node = platform.node, key = grant.token } = {}) =>
    call(`${node.url}${path}/output`, { key, body: { epoch: 1, ...sent } });
  const claim = async (options: { node?: Node; key?: string; body?: object } = {}) => {
    const { node = platform.node, key = KEYS.acme, body: asked = {} } = options;
    return await call(`${node.url}${path}/producer`, { key, body: asked });
  };
  const read = async () => (await call(`${platform.node.url}${path}`)).json as Generation;
  return { id, path, ref, grant, output, claim, read };
}

async function logOf({ ref }: { ref: GenerationRef }) {
  const events = await platform.log.leader.readTail(ref, asStreamSeq(0));
  return events.map(({ payload }) => JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>);
}
const typesOf = async (opened: { ref: GenerationRef }) => (await logOf(opened)).map(({ type }) => type);

describe("a producer", () => {
  test("writes a generation as a worker does, in the first epoch that its create has claimed", async () => {
    const opened = await open();
    expect(opened.grant).toEqual({
      token: expect.any(String),
      expires_at: expect.any(String),
      epoch: 1,
      nonce: expect.any(String),
      next: 1,
      text_length: 0,
      silence_ms: 30_000,
    });
    const first = await opened.output({ first: 1, entries: [said("Hel"), said("lo")] });
    expect([first.status, first.json]).toEqual([200, { stored: 2 }]);
    expect(await opened.read()).toMatchObject({ status: "in_progress", text: "Hello" });
    const end = { ...END, usage: { input_tokens: 3, output_tokens: 2 } };
    const last = await opened.output({ first: 3, entries: [{ type: "reasoning.delta", text: "?" }, end] });
    expect([last.status, last.json]).toEqual([200, { stored: 4, ended: "completed" }]);
    expect(await opened.read()).toMatchObject({
      status: "completed",
      text: "Hello",
      finish_reason: "stop",
      usage: { input_tokens: 3, output_tokens: 2 },
    });
    expect(await logOf(opened)).toMatchObject([
      { seq: 0, request: { model: "external" } },
      { seq: 1, type: "generation.started", attempt: 1, model: "external", worker: "external" },
      { seq: 2, type: "output.delta", text: "Hel" },
      { seq: 3, type: "output.delta", text: "lo" },
      { seq: 4, type: "reasoning.delta" },
      { seq: 5, type: "generation.completed" },
    ]);
  });

  test("repeats a call whose answer was lost, at any node, and nothing is stored twice", async () => {
    const opened = await open();
    const entries = [said("a"), said("b"), said("c")];
    const nodes = [platform.node, other];
    for (let i = 0; i < 6; i++) {
      // Each call begins before what is stored, at the other node than the one before it.
      const { json } = await opened.output({ first: 1 + i, entries }, { node: nodes[i % 2]! });
      expect(json).toEqual({ stored: 3 + i });
    }
    expect((await opened.read()).text).toBe("abcccccc");
    const ending = { first: 9, entries: [END] };
    expect((await opened.output(ending)).json).toEqual({ stored: 9, ended: "completed" });
    expect((await opened.output(ending, { node: other })).json).toEqual({ stored: 9, ended: "completed" });
    expect((await opened.output(ending)).json).toEqual({ stored: 9, ended: "completed" });
    expect((await typesOf(opened)).filter((type) => type === "generation.completed")).toHaveLength(1);
  });

  test("that sends the same entries to two nodes at once has them stored once", async () => {
    const opened = await open();
    const entries = Array.from({ length: 100 }, (_, i) => said(`${i} `));
    for (let first = 1; first <= 100; first += 5) {
      const sent = { first, entries: entries.slice(first - 1, first + 4) };
      const nodes = [platform.node, other, platform.node];
      const answers = await Promise.all(nodes.map((node) => opened.output(sent, { node })));
      const stored = { stored: first + 4 };
      expect(answers.map(({ json }) => json)).toEqual([stored, stored, stored]);
    }
    expect((await opened.read()).text).toBe(entries.map(({ text }) => text).join(""));
  });

  test("learns the number of the next entry if it leaves some out", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("a")] });
    const { status, json } = await opened.output({ first: 3, entries: [said("c")] }, { node: other });
    expect([status, json]).toEqual([
      409,
      {
        error: {
          code: "output_gap",
          message: "first: is 3, and 2 is the number of the next entry.",
          param: "first",
          retryable: false,
        },
      },
    ]);
  });

  test("is fenced by the next one, which continues after what is stored", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("Hel")] });
    const { status, json } = await opened.claim({ node: other });
    expect([status, json]).toMatchObject([200, { epoch: 2, next: 2, text_length: 3 }]);
    // The node that has served the first one, too.
    for (const sent of [
      { first: 2, entries: [said("p!")] },
      { entries: [] },
      { first: 1, entries: [said("Hel")] },
    ]) {
      const late = await opened.output(sent);
      expect([late.status, late.json]).toMatchObject([
        409,
        { error: { code: "producer_fenced", param: "epoch" } },
      ]);
    }
    const next = { epoch: 2, first: 2, entries: [said("lo"), END] };
    const { token: key } = json as Grant;
    expect((await opened.output(next, { key })).json).toEqual({ stored: 3, ended: "completed" });
    expect((await opened.read()).text).toBe("Hello");
    expect(await opened.claim()).toMatchObject({
      status: 409,
      json: { error: { code: "generation_ended" } },
    });
  });

  test("is fenced by another one with its epoch, which a store that has lost its end gives again", async () => {
    const opened = await open();
    const sent = { first: 1, entries: [said("a")] };
    for (const lost of [sent, { entries: [] }])
      expect(await opened.output({ ...lost, nonce: "000000x" })).toMatchObject({
        status: 409,
        json: { error: { code: "producer_fenced", param: "epoch" } },
      });
    expect((await opened.output({ ...sent, nonce: opened.grant.nonce })).json).toEqual({ stored: 1 });
  });

  test("may withdraw what the one before it has said, and begin again", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("Hel"), said("l")] });
    const { json } = await opened.claim({ key: opened.grant.token, body: { rewind: true } });
    // A token can't renew itself.
    expect(json).toEqual({
      epoch: 2,
      nonce: expect.any(String),
      next: 3,
      text_length: 0,
      silence_ms: 30_000,
    });
    await opened.output({ epoch: 2, first: 3, entries: [said("Bye"), END] });
    expect(await opened.read()).toMatchObject({ status: "completed", text: "Bye" });
  });

  test("withdraws nothing that was heard before an interrupt", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("heard")] });
    const heard = (await opened.read())["cursor"];
    await call(`${other.url}${opened.path}/interrupt`, { body: { heard } });
    await opened.claim({ key: opened.grant.token, body: { rewind: true } });
    await opened.output({ epoch: 2, entries: [] });
    expect(await opened.read()).toMatchObject({ finish_reason: "interrupted", text: "heard" });
  });

  test.each(["cancelled", "halted", "interrupted"] as const)(
    "is told with its next append that it was %s",
    async (how) => {
      const opened = await open();
      await opened.output({ first: 1, entries: [said("a")] });
      if (how === "cancelled") await call(`${other.url}${opened.path}/cancel`, { method: "POST" });
      else if (how === "interrupted")
        await call(`${other.url}${opened.path}/interrupt`, { body: { heard: "0-0" } });
      else await decide(platform, opened.ref, halted(2));
      const ended = how === "cancelled" ? how : "completed";
      expect((await opened.output({ first: 2, entries: [said("b"), END] })).json).toEqual({
        stored: 1,
        ended,
      });
      expect((await opened.output({ entries: [] })).json).toEqual({ stored: 1, ended });
      const types = await typesOf(opened);
      expect(types.filter((type) => type === "output.delta")).toHaveLength(1);
      expect(await opened.read()).toMatchObject(
        how === "cancelled" ? { status: how } : { finish_reason: how === "halted" ? "content_filter" : how },
      );
    },
  );

  test("is cancelled while it writes without a pause", async () => {
    const opened = await open();
    const entries = Array.from({ length: 256 }, () => said("x"));
    const sending = (async () => {
      for (let first = 1; ;) {
        const { json } = await opened.output({ first, entries });
        const { stored, ended } = json as { stored: number; ended?: string };
        if (ended !== undefined) return ended;
        first = stored + 1;
      }
    })();
    const { status } = await call(`${other.url}${opened.path}/cancel`, { method: "POST" });
    expect([status, await sending]).toEqual([200, "cancelled"]);
  });

  test("is told of another process that asks to append", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("x")] });
    using told = vi.spyOn(Appender.prototype, "yield");
    platform.log.requestYield(opened.ref);
    await expect.poll(() => told.mock.calls.length).toBe(1);
  });

  test("ends once: a second end is not stored", async () => {
    const opened = await open();
    const failed = { type: "generation.failed", error: { code: "engine_failed", message: "It broke." } };
    expect((await opened.output({ first: 1, entries: [failed] })).json).toEqual({
      stored: 1,
      ended: "failed",
    });
    expect((await opened.output({ first: 2, entries: [END] })).json).toEqual({ stored: 1, ended: "failed" });
    expect((await opened.output({ first: 1, entries: [failed] })).json).toEqual({
      stored: 1,
      ended: "failed",
    });
    expect(await opened.read()).toMatchObject({
      status: "failed",
      error: { code: "engine_failed", message: "It broke.", retryable: false },
    });
  });

  test("calls tools, which clients answer, and never two with one id", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [toolCall("c1")] });
    expect(await opened.read()).toMatchObject({ status: "awaiting_tool" });
    const answer = { call_id: "c1", output: 21 };
    expect(await call(`${other.url}${opened.path}/tool-results`, { body: answer })).toMatchObject({
      status: 200,
    });
    expect(await opened.output({ first: 2, entries: [toolCall("c1")] })).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param: "entries.0.call_id" } },
    });
    expect((await opened.output({ first: 2, entries: [said("21"), END] })).json).toMatchObject({ stored: 3 });
  });

  test.each([
    [
      "an event of the platform's",
      { first: 1, entries: [{ type: "generation.started", attempt: 9 }] },
      "entries.0.type",
    ],
    ["an event with a place", { first: 1, entries: [{ ...said("a"), seq: 7 }] }, "entries.0.seq"],
    ["a text that is too long", { first: 1, entries: [said("é".repeat(8_193))] }, "entries.0.text"],
    [
      "more tokens than there are",
      { first: 1, entries: [{ ...said("a"), tokens: 1_000_001 }] },
      "entries.0.tokens",
    ],
    ["an id that is too long", { first: 1, entries: [toolCall("c".repeat(257))] }, "entries.0.call_id"],
    ["an entry after the end", { first: 1, entries: [END, said("a")] }, "entries.1"],
    ["entries without a number", { entries: [said("a")] }, "first"],
    [
      "an end of the platform's",
      { first: 1, entries: [{ type: "generation.failed", error: { code: "worker_lost", message: "" } }] },
      "entries.0.error.code",
    ],
    ["an epoch of 0", { epoch: 0, entries: [] }, "epoch"],
  ])("is refused %s, and nothing is stored", async (_, sent, param) => {
    const opened = await open();
    expect(await opened.output(sent)).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param } },
    });
    expect(await typesOf(opened)).toHaveLength(2);
  });

  test("has to wait if it writes more than a MiB in a second", async () => {
    const opened = await open();
    const sealed = { type: "reasoning.sealed", encrypted: "x".repeat(1_040_000) };
    // However long a call takes on this machine, the node's clock stays.
    using _ = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    expect(await opened.output({ first: 1, entries: [sealed] })).toMatchObject({ status: 200 });
    const { json: refused } = await opened.output({ first: 2, entries: [sealed] });
    expect(refused).toMatchObject({
      error: { code: "limit_exceeded", param: "output.bytes_per_second", retryable: true },
    });
  });
});

describe("a log", () => {
  test("that is full takes nothing but its end, at any node", async () => {
    const opened = await open();
    const sealed = (length: number) => ({ type: "reasoning.sealed", encrypted: "x".repeat(length) }) as const;
    await append(await openWorker(platform.log, opened.ref), ...Array(16).fill(sealed(1_040_000)));
    for (const node of [platform.node, other])
      expect(await opened.output({ first: 17, entries: [sealed(200_000), END] }, { node })).toMatchObject({
        status: 429,
        json: { error: { code: "limit_exceeded", param: "output.total_bytes", retryable: false } },
      });
    const entries = [said("a"), END];
    expect((await opened.output({ first: 17, entries })).json).toEqual({ stored: 18, ended: "completed" });
  });
});

describe("a generation of the model `external`", () => {
  test("is joined by its key, and then has a further producer only when one claims it", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const opened = await open({ headers });
    const again = await call(`${other.url}/v1/generations`, { body: REQUEST, headers });
    expect([again.status, again.json]).toEqual([
      200,
      expect.not.objectContaining({ producer: expect.anything() }),
    ]);
    expect((await opened.output({ first: 1, entries: [END] })).json).toEqual({
      stored: 1,
      ended: "completed",
    });
  });

  test("has readers see its text only as far as moderation has cleared it", async () => {
    const opened = await open({ body: { policy: { moderation: { mode: "gate", rules: ["cards"] } } } });
    await opened.output({ first: 1, entries: [said("held "), said("back")] });
    expect((await opened.read()).text).toBe("");
    await judge(platform, opened.ref, 2);
    await expect.poll(async () => (await opened.read()).text).toBe("held ");
  });

  test("fails when its producer is silent for longer than between two tokens, and not while that says that it lives", async () => {
    const body = { policy: { timeouts: { between_tokens: { after_ms: 1_500 } } } };
    const [silent, slow] = [await open({ body }), await open({ body })];
    expect(silent.grant.silence_ms).toBe(1_500);
    for (const { output } of [silent, slow]) await output({ first: 1, entries: [said("a")] });
    const lives = setInterval(() => void slow.output({ entries: [] }).catch(() => {}), 200);
    await expect.poll(async () => (await silent.read()).status, { timeout: 20_000 }).toBe("failed");
    await expect.poll(async () => (await logOf(silent)).length).toBe(4);
    expect((await slow.read()).status).toBe("in_progress");
    clearInterval(lives);
    const error = { code: "worker_lost", message: "The producer was silent for 1500 ms.", retryable: true };
    expect(await silent.read()).toMatchObject({ text: "a", error });
    await expect.poll(async () => (await slow.read()).error, { timeout: 20_000 }).toEqual(error);
    expect((await slow.output({ first: 2, entries: [said("b")] })).json).toEqual({
      stored: 1,
      ended: "failed",
    });
  }, 60_000);

  test("takes nothing more once it is erased, also at a node that has its text in memory", async () => {
    const opened = await open();
    await opened.output({ first: 1, entries: [said("secret")] });
    const target = { broker: platform.broker, log: platform.log, ref: opened.ref };
    await logErasure.endGeneration(target);
    await logErasure.purgeGeneration(target, await logErasure.closeGeneration(target));
    const late = [
      await opened.output({ first: 2, entries: [said("late")] }),
      await opened.output({ entries: [] }),
    ];
    for (const { status, json } of [...late, await opened.claim()])
      expect([status, json]).toMatchObject([410, { error: { code: "generation_erased" } }]);
  });

  test("leaves the queue with its end", async () => {
    const opened = await open();
    const job = { ref: opened.ref, model: "external", priority: "interactive" as const };
    expect(await openJobs.readJob(platform.broker.bulk, job)).toBeDefined();
    await opened.output({ first: 1, entries: [END] });
    const readJob = () => openJobs.readJob(platform.broker.bulk, job);
    // Sooner than a reaper comes by.
    await expect.poll(readJob, { timeout: 10_000 }).toBeUndefined();
  });

  test("is written with its own token alone, or a key of its tenant that creates", async () => {
    const [opened, foreign] = [await open(), await open()];
    const sent = { first: 1, entries: [said("a")] };
    for (const [key, status] of [
      [foreign.grant.token, 404],
      [KEYS.beta, 404],
      [KEYS.acmeReader, 403],
      [KEYS.acmeCreator, 200],
    ] as const) {
      expect([key, (await opened.output(sent, { key })).status]).toEqual([key, status]);
      if (status !== 200) expect((await opened.claim({ key })).status).toBe(status);
    }
    // A page's token creates for its user, and must neither write what they are told nor depose the producer.
    const asked = { scopes: ["create", "read"], end_user: "ann" };
    const { token } = (await call(`${platform.node.url}/v1/tokens`, { body: asked })).json as {
      token: string;
    };
    const own = await open({ body: { end_user: "ann" } });
    expect((await own.output(sent, { key: token })).status).toBe(403);
    expect((await own.claim({ key: token })).status).toBe(403);
    const created = await call(`${platform.node.url}/v1/generations`, { key: token, body: REQUEST });
    expect([created.status, created.json]).toMatchObject([
      403,
      { error: { code: "forbidden", param: "model" } },
    ]);
  });

  test("is counted against no budget, though its model has no price", async () => {
    const key = "rk_paid_0123456789abcdef";
    const USD = { name: "usd", unit: "money", currency: "USD", limit: "1", period: "month" };
    const moreTenants = [{ id: "paid", keys: [{ secret: key, roles: ["create"] }], budgets: [USD] }];
    const node = await platform.addNode({ moreTenants });
    const create = (body: object) => call(`${node.url}/v1/generations`, { key, body });
    expect(await create({ ...REQUEST, model: "sim" })).toMatchObject({ status: 403 });
    const { status, json } = await create(REQUEST);
    expect([status, json]).toMatchObject([201, { producer: { epoch: 1 } }]);
    const generation = parseGenerationId((json as Generation).id);
    const [requested] = await logOf({ ref: { tenant: parseTenantId("paid"), generation } });
    expect(requested).not.toHaveProperty("budgets");
  });

  test("takes no streamed input, and a generation of a worker's takes no producer", async () => {
    const body = { model: "external", input: { stream: { format: "text" } } };
    const streamed = await call(`${platform.node.url}/v1/generations`, { body });
    expect(streamed).toMatchObject({ status: 400, json: { error: { code: "capability_unsupported" } } });
    const { json } = await call(`${platform.node.url}/v1/generations`, {
      body: { model: "sim", input: "x" },
    });
    const claim = `${platform.node.url}/v1/generations/${(json as Generation).id}/producer`;
    expect(await call(claim, { body: {} })).toMatchObject({
      status: 409,
      json: { error: { code: "producer_fenced" } },
    });
  });
});
