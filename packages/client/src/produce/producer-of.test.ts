import { expect, expectTypeOf, it } from "vitest";
import { createTestClient } from "../testing/test-runtime.ts";
import { durable, type StreamedResult } from "./durable.ts";
import { claimProducer, produce } from "./producer-of.ts";

interface Body {
  readonly rewind?: boolean;
  readonly epoch: number;
  readonly nonce: string;
  readonly first: number;
  readonly entries: readonly {
    readonly type: string;
    readonly text?: string;
    readonly tokens?: number;
    readonly call_id?: string;
  }[];
}

const REFUSED: [number, object] = [
  400,
  { error: { code: "invalid_request", message: "refused", retryable: false } },
];

/** A platform that stores entries as PROTOCOL §22 says; every `breaks`th answer is lost. */
function openPlatform({ breaks = Number.POSITIVE_INFINITY, silence_ms = 30_000 } = {}) {
  const log: Body["entries"][number][] = [];
  const bodies: Body[] = [];
  let calls = 0;
  const state = { epoch: 0, ended: undefined as string | undefined };
  const answerTo = (url: string, body: Body): [number, object] => {
    if (!url.endsWith("/output")) {
      const isClaim = url.endsWith("/producer");
      // A further create has joined the generation.
      if (!isClaim && state.epoch > 0) return [200, { id: "gen_0_1" }];
      if (body.rewind) log.push({ type: "output.rewind" });
      const producer = {
        epoch: ++state.epoch,
        nonce: `n${state.epoch}`,
        next: log.length + 1,
        text_length: 0,
        silence_ms,
      };
      return [200, isClaim ? producer : { id: "gen_0_1", producer }];
    }
    bodies.push(body);
    if (body.epoch !== state.epoch)
      return [409, { error: { code: "producer_fenced", message: "fenced", retryable: false } }];
    if (body.entries.some(({ text = "" }) => Buffer.byteLength(text) > 16_384)) return REFUSED;
    for (const [i, entry] of body.entries.entries())
      if (body.first + i === log.length + 1 && state.ended === undefined) {
        if (log.some(({ call_id }) => call_id !== undefined && call_id === entry.call_id)) return REFUSED;
        log.push(entry);
        if (/completed|failed/.test(entry.type)) state.ended = entry.type.split(".")[1]!;
      }
    return [200, { stored: log.length, ...(state.ended !== undefined && { ended: state.ended }) }];
  };
  const client = createTestClient("http://platform.test", {
    fetch: async (url, { body }) => {
      const [status, json] = answerTo(url, JSON.parse(body as string) as Body);
      if (++calls % breaks === 0) throw new Error("reset");
      return new Response(JSON.stringify(json), { status });
    },
  });
  return { client, log, bodies, state };
}

const textOf = (log: Body["entries"]) => log.map(({ text = "" }) => text).join("");

it("what is said while a call is under way goes with the next one, neighbouring texts as one event", async () => {
  const { client, log, bodies } = openPlatform();
  const producer = await produce(client, { input: "hi" });
  await Promise.all([
    ..."abc".split("").map((text) => producer.append(text)),
    producer.append({ type: "reasoning.delta", text: "?" }),
    producer.append("d"),
    producer.end(),
  ]);
  expect(log).toEqual([
    { type: "output.delta", text: "a" },
    { type: "output.delta", text: "bc", tokens: 2 },
    { type: "reasoning.delta", text: "?" },
    { type: "output.delta", text: "d" },
    { type: "generation.completed" },
  ]);
  expect(bodies.map(({ nonce, first, entries }) => [nonce, first, entries.length])).toEqual([
    ["n1", 1, 1],
    ["n1", 2, 4],
  ]);
});

it("nothing is lost or stored twice where answers are lost, and a long text is several events", async () => {
  const { client, log, bodies } = openPlatform({ breaks: 2 });
  await using producer = await produce(client, { input: "hi" });
  const texts = [..."0123456789".split(""), "é😀".repeat(40_000), "€".repeat(400_000)];
  await Promise.all(texts.map((text) => producer.append(text)));
  expect(textOf(log)).toBe(texts.join(""));
  expect(Math.max(...bodies.map((body) => Buffer.byteLength(JSON.stringify(body))))).toBeLessThan(1_048_576);
  expect(log.every(({ text = "" }) => text.isWellFormed())).toBe(true);
});

it("a deposed producer's appends reject with the platform's error, and its signal says so", async () => {
  const { client, log, bodies } = openPlatform();
  const first = await produce(client, { input: "hi" });
  await first.append("a");
  const second = await claimProducer(client, first.id);
  await second.append("b");
  void first.append("not awaited");
  await expect(first.append("c")).rejects.toMatchObject({ code: "producer_fenced", retryable: false });
  expect(first.signal).toMatchObject({ aborted: true, reason: { code: "producer_fenced" } });
  await expect(first.end()).rejects.toMatchObject({ code: "producer_fenced" });
  const calls = bodies.length;
  await first[Symbol.asyncDispose]();
  expect(bodies).toHaveLength(calls);
  await second.end();
  expect(textOf(log)).toBe("ab");
});

it("an end from outside rejects what is not stored", async () => {
  const { client, log, state } = openPlatform();
  const producer = await produce(client, { input: "hi" });
  state.ended = "cancelled";
  await expect(producer.append("late")).rejects.toMatchObject({
    code: "generation_ended",
    message: "The generation is cancelled.",
  });
  expect(log).toEqual([]);
});

it("a producer that leaves its block without an end fails the generation, once", async () => {
  const { client, log } = openPlatform();
  await (async () => {
    await using producer = await produce(client, { input: "hi" });
    await producer.append("a");
    throw new Error("model broke");
  })().catch(() => {});
  expect(log.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "producer_closed" } });
  await (async () => {
    await using producer = await claimProducer(client, "gen_0_1");
    await producer.end().catch(() => {});
  })();
  expect(log).toHaveLength(2);
});

it("a producer whose entry was refused fails the generation as it leaves its block, after what is stored", async () => {
  const { client, log } = openPlatform();
  const call = { type: "tool.call", call_id: "c1" };
  await (async () => {
    await using producer = await produce(client, { input: "hi" });
    await Promise.all(["a", "b", call, call].map((said) => producer.append(said)));
  })().catch(() => {});
  expect(log).toMatchObject([
    { text: "a" },
    { text: "b" },
    call,
    { type: "generation.failed", error: { code: "producer_closed" } },
  ]);
});

it("a producer whose caller's signal is aborted sends nothing more: another process may claim the generation", async () => {
  const { client, bodies } = openPlatform();
  const caller = new AbortController();
  await (async () => {
    await using producer = await produce(client, { input: "hi" }, { signal: caller.signal });
    await producer.append("a");
    caller.abort();
  })();
  expect(bodies).toHaveLength(1);
});

async function* partsOf(...parts: object[]) {
  for (const part of parts) yield part as never;
}

it("durable writes what the AI SDK streams, and its end", async () => {
  const { client, log } = openPlatform();
  const result: StreamedResult = {
    fullStream: partsOf(
      { type: "start" },
      { type: "reasoning-delta", text: "hm" },
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
      { type: "tool-call", toolCallId: "c1", toolName: "look_up", input: { word: "log" } },
      { type: "finish", finishReason: "tool-calls", totalUsage: { inputTokens: 3, outputTokens: 5 } },
    ),
  };
  const { id, done } = await durable(client, { input: "hi" }, () => result);
  await done;
  expect([id, textOf(log)]).toEqual(["gen_0_1", "hmHello"]);
  expect(log.slice(-2)).toEqual([
    { type: "tool.call", call_id: "c1", name: "look_up", arguments: '{"word":"log"}' },
    {
      type: "generation.completed",
      finish_reason: "tool_calls",
      usage: { input_tokens: 3, output_tokens: 5 },
    },
  ]);
});

it.each([
  ["text-delta", "output.delta"],
  ["reasoning-delta", "reasoning.delta"],
])("durable splits a long %s", async (type, written) => {
  const { client, log } = openPlatform();
  const text = "é😀".repeat(10_000);
  const parts = [{ type, text }, { type: "finish" }];
  const { done } = await durable(client, { input: "hi" }, () => ({ fullStream: partsOf(...parts) }));
  await done;
  expect(textOf(log)).toBe(text);
  expect(log.slice(0, -1).every((entry) => entry.type === written)).toBe(true);
});

it("durable leaves out the tool calls that the AI SDK has answered", async () => {
  const { client, log } = openPlatform();
  const called = ["c1", "c2", "c3", "c4"].map((toolCallId) => ({
    type: "tool-call",
    toolCallId,
    toolName: "f",
  }));
  const parts = [
    ...called,
    { type: "tool-result", toolCallId: "c1", output: 1 },
    { type: "tool-error", toolCallId: "c2", error: "no" },
    { type: "tool-output-denied", toolCallId: "c4" },
    { type: "text-delta", text: "a" },
    { type: "finish", finishReason: "tool-calls" },
  ];
  const { done } = await durable(client, { input: "hi" }, () => ({ fullStream: partsOf(...parts) }));
  await done;
  expect(log).toEqual([
    { type: "output.delta", text: "a" },
    { type: "tool.call", call_id: "c3", name: "f", arguments: "{}" },
    { type: "generation.completed", finish_reason: "tool_calls" },
  ]);
});

it("durable fails the generation with the model's error", async () => {
  const { client, log } = openPlatform();
  const broken = new Error("overloaded");
  const { done } = await durable(client, { input: "hi" }, () => ({
    fullStream: partsOf({ type: "text-delta", text: "a" }, { type: "error", error: broken }),
  }));
  await expect(done).rejects.toBe(broken);
  expect(log.at(-1)).toMatchObject({ type: "generation.failed" });
});

it("durable withdraws what an earlier run of the same job has said", async () => {
  const { client, log } = openPlatform();
  const lost = await produce(client, { input: "hi" });
  await lost.append("Hel");
  const parts = [
    { type: "text-delta", text: "Hello" },
    { type: "finish", finishReason: "stop" },
  ];
  const { done } = await durable(client, { input: "hi" }, () => ({ fullStream: partsOf(...parts) }));
  await done;
  expect(log.slice(1, 3)).toEqual([{ type: "output.rewind" }, { type: "output.delta", text: "Hello" }]);
});

it.each([[], [{ type: "abort" }]])(
  "durable fails a generation whose stream has no finish",
  async (...rest) => {
    const { client, log } = openPlatform();
    const said = { type: "text-delta", text: "Hel" };
    const { done } = await durable(client, { input: "hi" }, () => ({ fullStream: partsOf(said, ...rest) }));
    await expect(done).rejects.toMatchObject({ code: "engine_failed" });
    expect(log.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "engine_failed" } });
  },
);

it("a producer with nothing to say sends heartbeats, more often than every 5 s if its silence_ms is short", async () => {
  const { client, bodies } = openPlatform({ silence_ms: 30 });
  await using producer = await produce(client, { input: "hi" });
  expectTypeOf(producer.grant).toExtend<{ nonce: string; silence_ms: number }>();
  await expect.poll(() => bodies.length, { timeout: 4_000 }).toBeGreaterThan(2);
  expect([producer.id, bodies.every(({ entries }) => entries.length === 0)]).toEqual(["gen_0_1", true]);
});
