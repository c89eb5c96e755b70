import { GenerationFold, type GenerationRow } from "@reprise/facts";
import {
  ANALYTICS_REQUESTS,
  type AnalyticsCall,
  asSeq,
  encodeEvent,
  type EventDraft,
  type RepriseError,
} from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import type { RowSource } from "../facts/row-source.ts";
import { createQueries } from "./queries.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00Z") * 1_000;
const DAY = { tenant: "acme", from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z" };
const PRICE = { currency: "EUR", input: "1", output: "10" };

interface Life {
  readonly plan?: string;
  readonly model?: string;
  readonly queueUs?: number;
  readonly prefillUs?: number;
  readonly endUs?: number;
  readonly end?: EventDraft;
}

function rowOf({
  plan,
  model = "sim",
  queueUs = 1_000,
  prefillUs = 100_000,
  endUs = NOON_US,
  end = completed(),
}: Life = {}): GenerationRow {
  const ref = createRef("acme");
  const fold = GenerationFold.begin(ref);
  const atUs = endUs - queueUs - prefillUs - 30_000;
  const events: [EventDraft, number][] = [
    [requested(ref, { model, ...(plan !== undefined && { metadata: { plan } }) }), atUs],
    [{ ...started(), model } as EventDraft, atUs + queueUs],
    [delta("a"), atUs + queueUs + prefillUs],
    [delta("b"), endUs - 10_000],
    [end, endUs],
  ];
  for (const [i, [draft, storedAtUs]] of events.entries())
    fold.feed(encodeEvent(asSeq(i), draft), storedAtUs, ["plan"]);
  return fold.toRow();
}

function sourceOf(rows: readonly GenerationRow[]): RowSource {
  return {
    async read(_query, create) {
      const consumer = create();
      for (const row of rows) consumer.add(row);
      return consumer;
    },
    page: async ({ limit }) => rows.slice(0, limit),
    objectsOf: async () => [],
  };
}

function ask(call: AnalyticsCall, rows: readonly GenerationRow[], request: object): Promise<object> {
  const queries = createQueries({
    rows: sourceOf(rows),
    keys: ["plan"],
    priceOf: (model) => (model === "sim" ? PRICE : undefined),
  });
  const run = queries[call] as (request: unknown) => Promise<object>;
  return run(ANALYTICS_REQUESTS[call].parse({ ...DAY, ...request }));
}

const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error: RepriseError) => [error.code, error.param],
  );

describe("a summary", () => {
  test("puts variants side by side, with counts and intervals, the largest first", async () => {
    const failed: EventDraft = {
      type: "generation.failed",
      error: { code: "engine_failed", message: "m", retryable: true },
      usage: { input_tokens: null, output_tokens: 2 },
    };
    const rows = [
      ...Array.from({ length: 30 }, () => rowOf({ plan: "gold" })),
      ...Array.from({ length: 20 }, () => rowOf({ plan: "free", prefillUs: 1_500_000 })),
      ...Array.from({ length: 5 }, () => rowOf({ plan: "free", end: failed })),
      rowOf(),
    ];
    const answer = await ask("summary", rows, { by: ["metadata.plan"], limit: 2 });
    expect(answer).toMatchObject({
      by: ["metadata.plan"],
      targets: { first_ms: 1_000, gap_p99_ms: 2_000 },
      data: [
        {
          key: { "metadata.plan": "gold" },
          generations: 30,
          goodput: { met: 30, of: 30, share: 1, interval: [expect.closeTo(0.8865, 3), 1] },
          latency_ms: { queue: { count: 30, p50: 1 } },
        },
        {
          key: { "metadata.plan": "free" },
          generations: 25,
          failed: 5,
          failures: { engine_failed: 5 },
          completion: { met: 20, of: 25 },
          goodput: { met: 0, of: 25, share: 0 },
        },
      ],
      other: { generations: 1 },
    });
  });

  test("refuses metadata that is not measured, and says what is", async () => {
    const asked = ask("summary", [], { by: ["metadata.team"] });
    await expect(asked).rejects.toThrow('"team" is not measured. REPRISE_ANALYTICS_KEYS has "plan".');
    expect(await errorOf(ask("summary", [], { metadata: { team: "x" } }))).toEqual([
      "invalid_request",
      "metadata[team]",
    ]);
  });
});

describe("a timeseries", () => {
  test("has a point for each step in which generations ended", async () => {
    const rows = [0, 1, 61, 3_600].map((second) => rowOf({ endUs: NOON_US + second * 1_000_000 }));
    expect(await ask("timeseries", rows, { step: "1m" })).toMatchObject({
      data: [
        {
          key: {},
          points: [
            {
              at: "2026-11-21T12:00:00.000Z",
              generations: 2,
              first_token_ms: { p50: expect.closeTo(101, 0) },
            },
            { at: "2026-11-21T12:01:00.000Z", generations: 1 },
            { at: "2026-11-21T13:00:00.000Z", generations: 1 },
          ],
        },
      ],
    });
  });

  test("keeps the nine largest groups apart, wherever in the rows they are, and no points of the others", async () => {
    const small = Array.from({ length: 30 }, (_, i) => rowOf({ plan: `small ${i}` }));
    const large = Array.from({ length: 9 }, (_, i) => rowOf({ plan: `large ${i}` }));
    const rows = [...small, ...large, ...large];
    const answer = await ask("timeseries", rows, { step: "1h", by: ["metadata.plan"] });
    const plans = (answer as { data: { key: Record<string, string> }[] }).data.map(
      ({ key }) => key["metadata.plan"],
    );
    expect(new Set(plans)).toEqual(new Set(Array.from({ length: 9 }, (_, i) => `large ${i}`)));
    expect(answer).toMatchObject({ other: { points: [{ generations: 30 }] } });
  });

  test("refuses more points than an answer holds", async () => {
    const week = { from: "2026-11-14T00:00:00Z", step: "1m" };
    expect(await errorOf(ask("timeseries", [], week))).toEqual(["invalid_request", "step"]);
  });
});

test("the largest group is found after a thousand others, and its sums are those of all its rows", async () => {
  const small = Array.from({ length: 1_000 }, (_, i) => rowOf({ plan: `small ${i}` }));
  const rows = [...small, ...Array.from({ length: 9 }, () => rowOf({ plan: "large" }))];
  for (const call of ["summary", "usage"] as const)
    expect(await ask(call, rows, { by: ["metadata.plan"], limit: 2 })).toMatchObject({
      data: [
        { key: { "metadata.plan": "large" }, generations: 9 },
        { key: { "metadata.plan": "small 0" }, generations: 1 },
      ],
      other: { generations: 999 },
    });
});

test("usage by key comes in pages, each group once and of the first page's time, also while rows are added", async () => {
  const plans = Array.from({ length: 250 }, (_, i) => `p${i}`);
  const rows = plans.flatMap((plan) => [rowOf({ plan }), rowOf({ plan })]);
  const pages: { data: { key: Record<string, string>; generations: number }[]; next?: string; to: string }[] =
    [];
  for (let after: string | undefined; ;) {
    const request = {
      by: ["metadata.plan"],
      order: "key",
      limit: 100,
      ...(after !== undefined && { after }),
    };
    const to = pages.length === 0 ? {} : { to: "2026-11-22T00:00:05Z" };
    const page = (await ask("usage", rows, { ...request, ...to })) as (typeof pages)[number];
    pages.push(page);
    rows.push(rowOf({ plan: "p0" }), rowOf({ plan: `p0${pages.length}` }));
    after = page.next;
    if (after === undefined) break;
  }
  const groups = pages.flatMap(({ data }) => data.map(({ key }) => key["metadata.plan"] ?? ""));
  expect(pages.map(({ data }) => data.length)).toEqual([100, 100, 50]);
  expect(groups).toEqual(plans.toSorted());
  expect(new Set(pages.map(({ to }) => to)).size).toBe(1);
  expect(pages.flatMap(({ data }) => data.map(({ generations }) => generations))).toEqual(plans.map(() => 2));
});

test("a cursor of another question's groups is refused, and one without order=key", async () => {
  const rows = ["a", "b"].map((plan) => rowOf({ plan }));
  const byKey = { by: ["metadata.plan"], order: "key", limit: 1 };
  const { next } = (await ask("usage", rows, byKey)) as { next: string };
  for (const request of [
    { ...byKey, after: next, by: ["day"] },
    { ...byKey, after: "!" },
    { ...byKey, after: next, order: "size" },
  ])
    expect(await errorOf(ask("usage", rows, request))).toEqual(["invalid_request", "after"]);
});

test("usage is summed up by calendar and model, with exact costs", async () => {
  const rows = [rowOf(), rowOf(), rowOf({ model: "other" })];
  const answer = await ask("usage", rows, { by: ["day", "model"] });
  const [output] = rows.map((row) => row.output_tokens);
  expect(output).toBeGreaterThan(0);
  expect(answer).toMatchObject({
    data: [
      {
        key: { day: "2026-11-21", model: "sim" },
        generations: 2,
        output_tokens: 2 * (output ?? 0),
        unpriced: 0,
      },
      { key: { model: "other" }, generations: 1, cost: {}, unpriced: 1 },
    ],
  });
});

test("a latency budget names the term that breaks it, for a class and for an own target", async () => {
  const rows = Array.from({ length: 40 }, () => rowOf({ queueUs: 400_000, prefillUs: 250_000 }));
  expect(await ask("budget", rows, {})).toMatchObject({
    class: "chat-responsive",
    generations: 40,
    without_output: 0,
    breaks: "queue",
  });
  expect(await ask("budget", rows, { class: "voice" })).toMatchObject({
    targets: [
      { quantile: 0.95, target_ms: 800, met: true },
      { quantile: 0.5, target_ms: 500, met: false },
    ],
    breaks: "queue",
  });
  expect(await ask("budget", rows, { target_ms: 1_000, quantile: 0.5 })).toMatchObject({
    class: "own",
    breaks: null,
  });
  const slow = rows.map((row) => ({ ...row, output_tokens: 9, first_tokens: 1, total_us: 10_000_000 }));
  expect(await ask("budget", slow, { target_ms: 1_000, tokens: 1 })).toMatchObject({ breaks: null });
  expect(await ask("budget", slow, { target_ms: 1_000, tokens: 2 })).toMatchObject({
    tokens: 2,
    breaks: "decode",
  });
  expect(await errorOf(ask("budget", rows, { class: "voice", target_ms: 1 }))).toEqual([
    "invalid_request",
    "target_ms",
  ]);
});

test("pages end with what to ask next, the last one without", async () => {
  const rows = Array.from({ length: 3 }, () => rowOf());
  const page = (await ask("generations", rows, { limit: 2 })) as { data: object[]; next: string };
  expect(page.data).toMatchObject(
    rows.slice(0, 2).map(({ generation }) => ({ id: generation, queue_ms: 1 })),
  );
  expect(Buffer.from(page.next, "base64url").toString()).toBe(`${NOON_US}.${rows[1]?.generation}`);
  expect(await ask("generations", rows, { limit: 3 })).not.toHaveProperty("next");
  expect(await errorOf(ask("generations", rows, { after: "!" }))).toEqual(["invalid_request", "after"]);
});

test("a time that ends before it begins, or is too long, is refused", async () => {
  expect(await errorOf(ask("usage", [], { to: DAY.from }))).toEqual(["invalid_request", "to"]);
  expect(await errorOf(ask("usage", [], { from: "2025-01-01T00:00:00Z" }))).toEqual([
    "invalid_request",
    "from",
  ]);
});
