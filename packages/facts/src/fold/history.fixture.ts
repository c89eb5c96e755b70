import { asSeq, encodeEvent, type EventDraft } from "@reprise/protocol";
import fc from "fast-check";

/** An event as a stream keeps it. */
export interface StoredBytes {
  readonly payload: Uint8Array;
  readonly storedAtUs: number;
}

const TEXTS = [
  "",
  "a",
  " word",
  'quote " and \\ and \\"',
  '","tokens":9',
  '"}',
  "\\",
  "🙂\n",
  "x".repeat(300),
];
const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: "binary", maxLength: 12 }));
const tokens = fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined });

/** One step of a generation; what it may do depends on what came before. */
const step = fc.record({
  kind: fc.constantFrom(
    "delta",
    "delta",
    "delta",
    "delta",
    "delta",
    "reasoning",
    "summary",
    "takeover",
    "rewind",
    "call",
    "result",
    "redact",
    "halt",
    "review",
    "unavailable",
    "later",
  ),
  text,
  tokens,
  input: fc.option(fc.nat({ max: 5_000 }), { nil: undefined, freq: 8 }),
  /** From 0 up to 1, evenly, as numbers of fast-check's own with decimals are not. */
  at: fc.nat({ max: 999 }).map((thousandths) => thousandths / 1_000),
  afterUs: fc.oneof(
    fc.nat({ max: 50_000 }),
    fc.nat({ max: 5_000_000 }),
    fc.integer({ min: -100_000, max: 0 }),
  ),
});

const CODES = ["engine_failed", "engine_unavailable", "budget_exceeded", "moderation_halted"];
const CANCEL_REASONS = ["requested", "abandoned", "moderation", "a reason of the caller's"];
const FINISH_REASONS = ["stop", "length", "content_filter", "timeout"];
const TAKEOVER_REASONS = ["handover", "timeout", "engine_failed", undefined];

const end = fc.record({
  status: fc.constantFrom("completed", "failed", "cancelled"),
  /** Index into the codes, reasons and finish reasons below. */
  how: fc.nat({ max: 3 }),
  input: fc.option(fc.nat({ max: 5_000 }), { nil: null }),
  /** By how much the engine counts otherwise than the log. */
  difference: fc.integer({ min: -3, max: 3 }),
  afterUs: fc.nat({ max: 100_000 }),
});

export interface HistoryOptions {
  readonly steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[];
  readonly end: typeof end extends fc.Arbitrary<infer T> ? T : never;
  readonly isModerated: boolean;
}

/** Whole logs, from the request to the end, as workers, delivery and moderation write them. */
export const history: fc.Arbitrary<readonly StoredBytes[]> = fc
  .record({ steps: fc.array(step, { maxLength: 60 }), end, isModerated: fc.boolean() })
  .map(toHistory);

const START_US = 1_763_900_000_000_000;

function toHistory({ steps, end: { status, how, input, difference, afterUs }, isModerated }: HistoryOptions) {
  const drafts: { draft: EventDraft; afterUs: number }[] = [];
  const append = (draft: unknown, after = 1_000) =>
    drafts.push({ draft: draft as EventDraft, afterUs: after });
  append({
    type: "generation.requested",
    tenant: "acme",
    generation: "gen_test",
    created_at: "2026-11-23T12:00:00.000Z",
    request: { model: "sim", input: "Go.", metadata: { plan: "gold", feature: "x".repeat(100) } },
    policy: { ...(isModerated && { moderation: { mode: "gate", rules: [] } }) },
  });
  let [attempt, calls, produced] = [0, 0, 0];
  /** Calls without an answer, and their `seq`s: a rewind takes back later ones. */
  let open: { id: string; seq: number }[] = [];
  const begin = (reason?: string) =>
    append({
      type: "generation.started",
      attempt: ++attempt,
      worker: "worker-1",
      model: "sim",
      ...(attempt !== 2 && { engine: `engine-${attempt}` }),
      ...(reason && { reason }),
    });
  for (const each of steps) {
    if (attempt === 0) begin();
    const { kind, at } = each;
    const say = (type: string, isCounted = true) => {
      produced += each.tokens ?? (isCounted ? 1 : 0);
      append(
        {
          type,
          text: each.text,
          ...(each.tokens !== undefined && { tokens: each.tokens }),
          ...(isCounted &&
            each.input !== undefined && { input_tokens: each.input, cached_input_tokens: each.input >> 2 }),
        },
        each.afterUs,
      );
    };
    if (kind === "delta" && open.length === 0) say("output.delta");
    if (kind === "reasoning" && open.length === 0) say("reasoning.delta");
    if (kind === "summary" && open.length === 0) say("reasoning.summary.delta", false);
    if (kind === "takeover") begin(TAKEOVER_REASONS[Math.floor(at * 4)]);
    if (kind === "rewind") {
      const toSeq = Math.floor(at * drafts.length);
      append({ type: "output.rewind", to_seq: toSeq, reason: "timeout" }, each.afterUs);
      open = open.filter(({ seq }) => seq <= toSeq);
    }
    if (kind === "call") {
      const id = `call-${calls++}`;
      open.push({ id, seq: drafts.length });
      produced += each.tokens ?? 0;
      append(
        {
          type: "tool.call",
          call_id: id,
          name: "look_up",
          arguments: "{}",
          ...(each.tokens !== undefined && { tokens: each.tokens, reasoning_tokens: each.tokens >> 1 }),
          ...(each.input !== undefined && { input_tokens: each.input, cached_input_tokens: each.input >> 1 }),
        },
        each.afterUs,
      );
    }
    if (kind === "result" && open.length > 0)
      append({ type: "tool.result", call_id: open.shift()?.id, output: each.text }, each.afterUs);
    if (kind === "redact") {
      const to = Math.floor(at * drafts.length);
      const found = { replacement: "", rule: "r", category: "c" };
      append({ type: "moderation.redacted", from_seq: to, to_seq: to, ...found }, each.afterUs);
    }
    if (kind === "halt")
      append({ type: "moderation.halted", from_seq: drafts.length - 1, replacement: "", rule: "r" });
    if (kind === "review") append({ type: "moderation.review", review_id: `r${drafts.length}` });
    if (kind === "unavailable") append({ type: "moderation.unavailable" });
    if (kind === "later") append({ type: "output.later", text: each.text });
  }
  const usage = {
    input_tokens: input,
    output_tokens: Math.max(0, produced + difference),
    ...(difference < 0 && input !== null && { estimated_input_tokens: input }),
    ...(difference > 0 && { cached_input_tokens: difference, reasoning_tokens: difference }),
  };
  const said = {
    completed: { finish_reason: FINISH_REASONS[how] },
    failed: { error: { code: CODES[how], message: "…", retryable: true } },
    cancelled: { reason: CANCEL_REASONS[how] },
  }[status];
  append({ type: `generation.${status}`, ...said, usage }, afterUs);
  let storedAtUs = START_US;
  return drafts.map(({ draft, afterUs: after }, seq): StoredBytes => {
    storedAtUs += after;
    return { payload: encodeEvent(asSeq(seq), draft), storedAtUs };
  });
}
