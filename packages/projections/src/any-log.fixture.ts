import {
  asSeq,
  type KnownEvent,
  type UnknownEvent,
  Withdrawals,
  decodeEvent,
  encodeEvent,
  FINISH_REASONS,
} from "@reprise/protocol";
import * as fc from "fast-check";

/* Logs as readers may see them, from seq 1 on, for the property tests of projections. */

export type LogEvent = KnownEvent | UnknownEvent;
type Draft = { readonly type: string; readonly [field: string]: unknown };

const anyText = fc.string({
  unit: fc.oneof(
    { weight: 9, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.constantFrom("\u0085", "\u2028", "\u2029") },
  ),
  maxLength: 12,
});
const USAGE = { input_tokens: 3, output_tokens: 5, cached_input_tokens: 1, reasoning_tokens: 2 };
const FOUND = { rule: "cards", category: "personal-data" };

/** Possible continuations of a log; places are fractions of the log so far. */
type Step = (said: readonly Draft[]) => Draft[];

const place = fc.double({ min: 0, max: 0.999, noNaN: true });
const seqAt = (said: readonly Draft[], share: number) => Math.floor(share * said.length) + 1;
const always = (arbitrary: fc.Arbitrary<Draft>): fc.Arbitrary<Step> =>
  arbitrary.map((draft) => () => [draft]);
const channel = fc.constantFrom(undefined, "reasoning", "refusal", "tool", "tool_name", "annotation", "blob");

const delta = always(
  fc.record(
    {
      type: fc.constant("output.delta"),
      text: anyText,
      tokens: fc.nat(4),
      logprobs: fc.constant([
        { token: "a", logprob: -1, top: [{ token: "b", logprob: -2 }] },
        { logprob: -3 },
      ]),
    },
    { requiredKeys: ["type", "text"] },
  ),
);
const words = always(
  fc.record({
    type: fc.constantFrom("reasoning.delta", "refusal.delta", "reasoning.summary.delta"),
    text: anyText,
  }),
);
const beside = always(
  fc.oneof(
    fc.record({ type: fc.constant("reasoning.sealed"), encrypted: anyText }),
    fc.record({ type: fc.constant("output.blob"), kind: fc.constant("image"), blob: anyText }),
    fc.record({
      type: fc.constant("moderation.unavailable"),
      answer: fc.constant("fail_open"),
      judged_seq: fc.constant(1),
    }),
    fc.record({ type: fc.constant("of.a.later.version"), text: anyText }),
  ),
);
const annotation: fc.Arbitrary<Step> = fc
  .tuple(place, fc.constantFrom("url", "file"), anyText)
  .map(([share, kind, title]) => (said) => [
    {
      type: "output.annotation",
      kind,
      from_seq: seqAt(said, share),
      to_seq: said.length,
      from_offset: 0,
      to_offset: 1,
      ...(kind === "url" ? { url: `https://example.com/${title.length}`, title } : { file: "file-1" }),
    },
  ]);
const call: fc.Arbitrary<Step> = fc.tuple(anyText, fc.boolean()).map(([args, isAnswered]) => (said) => {
  const callId = `call_${said.length}`;
  return [
    { type: "tool.call", call_id: callId, name: "look_up", arguments: args },
    ...(isAnswered ? [{ type: "tool.result", call_id: callId, output: "found" }] : []),
  ];
});
const redaction: fc.Arbitrary<Step> = fc
  .tuple(place, place, channel, anyText)
  .map(([a, b, name, replacement]) => (said) => {
    if (said.length === 0) return [];
    const [from, to] = [seqAt(said, Math.min(a, b)), seqAt(said, Math.max(a, b))];
    const range = { from_seq: from, to_seq: to, replacement, ...FOUND };
    return [{ type: "moderation.redacted", ...range, ...(name && { channel: name }) }];
  });
const takeover: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom("handover", "worker_lost"), fc.option(place))
  .map(([reason, back]) => (said) => {
    const attempt = said.filter(({ type }) => type === "generation.started").length + 1;
    const lastResult = said.findLastIndex(({ type }) => type === "tool.result") + 1;
    const to = back === null ? undefined : Math.max(lastResult, Math.floor(back * said.length));
    return [
      { type: "generation.started", attempt, worker: `w${attempt}`, model: "sim", reason },
      ...(to === undefined ? [] : [{ type: "output.rewind", to_seq: to, reason }]),
    ];
  });
const interrupt: fc.Arbitrary<Step> = place.map((back) => (said) => [
  { type: "output.rewind", to_seq: Math.floor(back * said.length), reason: "interrupted" },
]);
const item: fc.Arbitrary<Step> = fc.tuple(anyText, anyText).map(([guess, text]) => (said) => [
  { type: "output.delta", text: guess, item: said.length + 1 },
  { type: "output.rewind", to_seq: said.length, reason: "revised" },
  { type: "output.delta", text, item: said.length + 1, final: true },
]);
const halt: Step = (said) => [
  { type: "moderation.halted", from_seq: Math.max(1, said.length), replacement: "[halted]", ...FOUND },
];

const end: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom(...FINISH_REASONS).map((reason): Step => () => [
    { type: "generation.completed", finish_reason: reason, usage: USAGE },
  ]),
  fc.constant<Step>(() => [
    {
      type: "generation.failed",
      error: { code: "worker_lost", message: "No worker is left.", retryable: true },
      usage: USAGE,
    },
  ]),
  fc.constant<Step>(() => [
    { type: "generation.cancelled", reason: "asked", usage: { input_tokens: null, output_tokens: 0 } },
  ]),
);

const body = fc.array(
  fc.oneof(
    { arbitrary: delta, weight: 6 },
    { arbitrary: words, weight: 3 },
    beside,
    annotation,
    call,
    redaction,
    takeover,
    interrupt,
    item,
  ),
  { maxLength: 24 },
);

/** A whole log: the first attempt, its events and those of its successors, the end, and moderation's events after it. Some logs end in the queue. */
export const anyLog: fc.Arbitrary<readonly LogEvent[]> = fc
  .record({ isBegun: fc.boolean(), body, isHalted: fc.boolean(), end, after: fc.option(redaction) })
  .map(({ isBegun, body: steps, isHalted, end: last, after }) => {
    const said: Draft[] = isBegun
      ? [{ type: "generation.started", attempt: 1, worker: "w1", model: "sim" }]
      : [];
    for (const step of isBegun ? steps : []) said.push(...step(said));
    if (isHalted && isBegun) said.push(...halt(said));
    said.push(...last(said));
    if (after && isBegun) said.push(...after(said));
    return said.map((draft, i) => ({ ...draft, seq: asSeq(i + 1) }) as unknown as LogEvent);
  });

/** The same log as a reader gets it who comes after all of its withdrawals. */
export function asReadLate(log: readonly LogEvent[]): LogEvent[] {
  const withdrawals = new Withdrawals();
  for (const event of log) withdrawals.apply(event);
  return log.map((event) => {
    const { seq, ...draft } = event;
    return decodeEvent(withdrawals.project(seq, encodeEvent(seq, draft as never)));
  });
}
