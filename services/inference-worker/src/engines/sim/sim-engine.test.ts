import type { OutputItem } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PREFIX, NO_PROGRESS, type Prefix, type Progress } from "../engine.ts";
import { anyText } from "../testing/any-text.ts";
import { collect } from "../testing/collect.ts";
import { createJumpingClock } from "../testing/jumping-clock.ts";
import { createSimEngine } from "./sim-engine.ts";

const instant = createSimEngine({ clock: createJumpingClock() });

function requestOf(options: EngineRequest["options"], fields: Partial<EngineRequest> = {}): EngineRequest {
  return { model: "sim", input: "Hello there", ...(options && { options }), ...fields };
}

function run(request: EngineRequest, prefix: Prefix = NO_PREFIX, engine = instant) {
  return collect(engine.generate(request, { ...NO_PROGRESS, prefix, signal: new AbortController().signal }));
}

const anyTokens = fc.oneof(
  fc.record({ tokens: fc.nat(200), seed: fc.nat() }),
  fc.record({ text: anyText({ minLength: 1 }) }),
  fc.record({ chunks: fc.array(anyText({ minLength: 1 }), { maxLength: 30 }) }),
);

describe("the simulator", () => {
  test("interrupted anywhere and continued says what it says uninterrupted, and ends in the same way", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyTokens,
        fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
        fc.nat(),
        async (options, max, at) => {
          const request = requestOf(options, max === undefined ? {} : { max_output_tokens: max });
          const whole = await run(request);
          const cut = at % whole.events.length;
          const before = whole.events.slice(0, cut);
          const text = before.map((event) => (event.type === "text" ? event.text : "")).join("");
          const rest = await run(request, { text, tokens: cut });
          expect([...before, ...rest.events]).toEqual(whole.events);
        },
      ),
    );
  });

  test("streams given chunks exactly, one token each", async () => {
    const chunks = ["a", " ", "\n", "日本", "🙂"];
    const { events } = await run(requestOf({ chunks }));
    expect(events).toEqual([
      ...chunks.map((text) => ({ type: "text", text })),
      { type: "finish", reason: "stop" },
    ]);
  });

  test("asked for log probabilities makes them up, the same for the same tokens, as many others as were asked for", async () => {
    const request = requestOf({ chunks: ["a", "b"] }, { logprobs: 2 });
    const { events } = await run(request);
    const likely = events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
    expect(likely).toMatchObject([
      { token: "a", logprob: -Math.LN2, top: [{ token: "a" }, { logprob: -2 * Math.LN2 }] },
      { token: "b", top: [{ token: "b" }, {}] },
    ]);
    expect((await run(request, { text: "a", tokens: 1 })).events).toEqual(events.slice(1));
    expect((await run(requestOf({ chunks: ["a"] }, { logprobs: 0 }))).events[0]).toEqual({
      type: "text",
      text: "a",
      logprobs: [{ token: "a", logprob: -Math.LN2 }],
    });
  });

  test("says what it had cached and has reasoned where the options ask for it", async () => {
    const { events } = await run(
      requestOf({ chunks: ["a", "b"], cached_input_tokens: 1, reasoning_tokens: 7 }),
    );
    expect(events).toEqual([
      { type: "text", text: "a", cachedInputTokens: 1 },
      { type: "text", text: "b" },
      {
        type: "finish",
        reason: "stop",
        usage: { input_tokens: 2, output_tokens: 9, cached_input_tokens: 1, reasoning_tokens: 7 },
      },
    ]);
  });

  test.each([
    [{ tokens: 5 }, 5, 5, "stop"],
    [{ tokens: 5 }, 6, 5, "stop"],
    [{ tokens: 5 }, 4, 4, "length"],
    [{ tokens: 0 }, 4, 0, "stop"],
    [{ chunks: ["a", "b"] }, 1, 1, "length"],
  ])(
    "with options %j and max_output_tokens %i makes %i tokens and finishes with %s",
    async (options, max, count, reason) => {
      const { events } = await run(requestOf(options, { max_output_tokens: max }));
      expect(events.length - 1).toBe(count);
      expect(events.at(-1)).toEqual({ type: "finish", reason });
    },
  );

  test("fails in place of the token it was told to, with nothing lost before it", async () => {
    const { events, error } = await run(requestOf({ tokens: 10, fail_after_tokens: 3 }));
    expect(events).toHaveLength(3);
    expect(error).toMatchObject({ code: "engine_failed", retryable: true });
  });

  const SEAM = { prefix: { text: "a", tokens: 1 }, reasoned: false, counted: false };

  test("can be continued unless it is told that it can't, or its options are wrong", () => {
    expect(instant.canContinue(requestOf(undefined), SEAM)).toBe(true);
    expect(instant.canContinue(requestOf({ continuable: false }), SEAM)).toBe(false);
    expect(instant.canContinue(requestOf({ tokens: -1 }), SEAM)).toBe(false);
  });
});

describe("the simulator's schedule", () => {
  /** The time of every event, from the start of the run. */
  async function timesOf(
    options: Record<string, number>,
    progress: Partial<Progress> = {},
    onEvent?: (count: number) => number | undefined,
  ) {
    const clock = createJumpingClock();
    const start = clock.now();
    const times: number[] = [];
    const signal = new AbortController().signal;
    const generateOptions = { ...NO_PROGRESS, ...progress, signal };
    for await (const event of createSimEngine({ clock }).generate(requestOf(options), generateOptions)) {
      times.push(Math.round(clock.now() - start));
      const late = event.type === "text" ? onEvent?.(times.length) : undefined;
      if (late !== undefined) clock.jumpTo(start + late);
    }
    return { times, sleeps: clock.sleeps };
  }

  test("has token i due at first_token_ms + i / tokens_per_second, and the end with the last token", async () => {
    const { times } = await timesOf({ tokens: 5, tokens_per_second: 100, first_token_ms: 70 });
    expect(times).toEqual([70, 80, 90, 100, 110, 110]);
  });

  test("is absolute: what is late comes in one go, and the rest on time", async () => {
    const { times } = await timesOf({ tokens: 6, tokens_per_second: 100 }, NO_PROGRESS, (count) =>
      count === 2 ? 35 : undefined,
    );
    expect(times).toEqual([0, 10, 35, 35, 40, 50, 50]);
  });

  test("begins again when the run is continued", async () => {
    const { times } = await timesOf(
      { tokens: 5, tokens_per_second: 100, first_token_ms: 70 },
      { prefix: { text: "…", tokens: 3 } },
    );
    expect(times).toEqual([70, 80, 80]);
  });

  test("has a tool call due with the token that it comes before, and begins again after the answer", async () => {
    const options = { tokens: 4, tokens_per_second: 100, first_token_ms: 70, tool_call_after_tokens: 2 };
    expect((await timesOf(options)).times).toEqual([70, 80, 90, 90]);
    const turns: OutputItem[] = [
      { type: "text", text: "…", tokens: 2 },
      { type: "tool_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "tool_result", call_id: "a", output: null },
    ];
    expect((await timesOf(options, { turns })).times).toEqual([70, 80, 80]);
  });

  test("of 0 tokens per second is as fast as it can, but gives others a turn every 256 tokens", async () => {
    const { times, sleeps } = await timesOf({ tokens: 1_000, tokens_per_second: 0 });
    expect(times).toEqual(Array<number>(1_001).fill(0));
    expect(sleeps).toHaveLength(3);
  });
});

describe("the simulator, when its signal aborts,", () => {
  const reason = new Error("enough");

  test.each([
    ["stalls", { tokens: 5, stall_after_tokens: 0 }],
    ["waits for its first token", { first_token_ms: 600_000 }],
    ["waits between tokens", { tokens: 5, stall_after_tokens: 2, tokens_per_second: 0 }],
  ])("throws the signal's reason at once while it %s", async (_, options) => {
    const abort = new AbortController();
    const running = collect(
      createSimEngine().generate(requestOf(options), { ...NO_PROGRESS, signal: abort.signal }),
    );
    setImmediate(() => abort.abort(reason));
    expect((await running).error).toBe(reason);
  });

  test("says not a word more, even when it is in full flow", async () => {
    const abort = new AbortController();
    const events = createSimEngine().generate(requestOf({ tokens_per_second: 0 }), {
      ...NO_PROGRESS,
      signal: abort.signal,
    });
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    abort.abort(reason);
    await expect(iterator.next()).rejects.toBe(reason);
  });

  test("before it begins does not begin", async () => {
    const signal = AbortSignal.abort(reason);
    expect(
      await collect(createSimEngine().generate(requestOf({}), { ...NO_PROGRESS, signal })),
    ).toMatchObject({ events: [], error: reason });
  });
});

describe("the simulator's options", () => {
  test.each([
    [{ tokens: -1 }, "tokens"],
    [{ tokens_per_second: 1_000_001 }, "tokens_per_second"],
    [{ seed: 2_147_483_648 }, "seed"],
    [{ chunks: ["a", ""] }, "chunks.1"],
    [{ stall_after_tokens: null }, "stall_after_tokens"],
    [{ tool_call_after_tokens: 3, tool_calls: 33 }, "tool_calls"],
    [{ tool_calls: 1 }, "tool_calls"],
    [{ text: "a", tokens: 3 }, "text"],
    [{ text: "a", chunks: ["a"] }, "chunks"],
  ])("%j are refused by the path of what is wrong, at the door and by a run", async (options, field) => {
    const refusal = expect.objectContaining({
      code: "invalid_request",
      param: `options.${field}`,
    }) as unknown;
    expect(await run(requestOf(options))).toMatchObject({ events: [], error: refusal });
  });

  test("do not override the request's own seed", async () => {
    const refusal = expect.objectContaining({ code: "invalid_request", param: "options.seed" }) as unknown;
    expect(await run({ ...requestOf({ seed: 6 }), seed: 5 })).toMatchObject({ events: [], error: refusal });
  });
});
