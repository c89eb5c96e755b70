import type { StoredBytes } from "./history.fixture.ts";

/* A second way to the same numbers: every event is parsed, all are kept, and each number is computed from all of them by itself. It shares no code and no step with the fold: nothing is carried from one event to the next. */

type Json = Record<string, unknown> & { seq: number; type: string; at: number };

const OUTPUT = ["output.delta", "reasoning.delta", "reasoning.summary.delta", "tool.call"];

export function recount(log: readonly StoredBytes[]) {
  const events = parse(log);
  const of = (...types: string[]) => events.filter(({ type }) => types.includes(type));
  const deltas = of("output.delta", "reasoning.delta", "reasoning.summary.delta").map((delta) =>
    delta.type === "reasoning.summary.delta" ? { tokens: 0, ...delta } : delta,
  );
  const tokensOf = (list: readonly Json[]) =>
    list.reduce((sum, { tokens }) => sum + ((tokens as number | undefined) ?? 1), 0);
  const [requested] = events;
  const started = of("generation.started");
  const end = events.find(({ type }) => /^generation\.(completed|failed|cancelled)$/.test(type));
  if (!requested || !end) throw new Error("The log is not whole.");
  const usage = end["usage"] as {
    input_tokens: number | null;
    output_tokens: number;
    cached_input_tokens?: number;
    estimated_input_tokens?: number;
    reasoning_tokens?: number;
  };
  const calls = of("tool.call").map((call) => ({ tokens: 0, ...call }));
  const counted = [...deltas, ...calls];
  const kept = counted.filter(
    ({ seq }) =>
      !of("output.rewind").some((rewind) => rewind.seq > seq && (rewind["to_seq"] as number) < seq),
  );
  const gaps = deltas.slice(1).flatMap((delta, i) => {
    const before = deltas[i];
    const isInterrupted = of("tool.call").some(({ seq }) => before && seq > before.seq && seq < delta.seq);
    return before && !isInterrupted ? [delta.at - before.at] : [];
  });
  const first = [...deltas, ...calls].toSorted((a, b) => a.seq - b.seq)[0];
  const began = first && started.findLast(({ seq }) => seq < first.seq);
  const said = [
    ...started.map(({ input_tokens: tokens }) => tokens),
    ...[...deltas, ...of("tool.call")]
      .toSorted((a, b) => a.seq - b.seq)
      .map(({ input_tokens: tokens }) => tokens),
  ].filter((tokens) => tokens !== undefined) as number[];
  const cached = [...deltas, ...calls]
    .toSorted((a, b) => a.seq - b.seq)
    .flatMap((event: Partial<Json>) => (event["cached_input_tokens"] as number | undefined) ?? []);
  const reasoned =
    tokensOf(deltas.filter(({ type }) => type.startsWith("reasoning."))) +
    calls.reduce(
      (sum, call: Partial<Json>) => sum + ((call["reasoning_tokens"] as number | undefined) ?? 0),
      0,
    );
  const policy = requested["policy"] as { moderation?: { mode: string } };
  const long = gaps.filter((gap) => gap > 2_000_000);
  return {
    moderation_mode: policy.moderation?.mode ?? null,
    finish_reason: (end["finish_reason"] as string | undefined) ?? null,
    code: (end["error"] as { code: string } | undefined)?.code ?? null,
    reason: end.type === "generation.cancelled" ? (end["reason"] as string) : null,
    engine: started.at(-1)?.["engine"] ?? null,
    status: end.type.slice("generation.".length),
    queue_us: started[0] ? started[0].at - requested.at : null,
    first_us: first ? first.at - requested.at : null,
    prefill_us: first && began ? first.at - began.at : null,
    total_us: end.at - requested.at,
    first_tokens: first ? tokensOf([first]) : null,
    tool_wait_us: timeOf(spansOf(events), ({ isWait }) => isWait),
    gaps,
    stalls: long.length,
    stall_us: long.reduce((sum, gap) => sum + gap, 0),
    attempts: started.length,
    takeovers: countBy(started.slice(1).map(({ reason = "worker_lost" }: Partial<Json>) => reason as string)),
    rewinds: of("output.rewind").length,
    events: events.length,
    chunks: deltas.length,
    tool_calls: of("tool.call").length,
    input_tokens: usage.input_tokens ?? said[0] ?? null,
    estimated_input_tokens: usage.estimated_input_tokens ?? null,
    cached_input_tokens: usage.cached_input_tokens ?? cached[0] ?? null,
    reasoning_tokens: usage.reasoning_tokens ?? (reasoned > 0 ? reasoned : null),
    output_tokens: usage.output_tokens,
    output_tokens_kept: Math.max(0, usage.output_tokens - (tokensOf(counted) - tokensOf(kept))),
    uncounted_tokens: usage.output_tokens - tokensOf(counted),
    redactions: of("moderation.redacted").length,
    retraction_us: policy.moderation ? retractionOf(of("moderation.redacted"), deltas) : null,
    is_halted: of("moderation.halted").length > 0,
    reviews: of("moderation.review").length,
    was_unmoderated: of("moderation.unavailable").length > 0,
    clock_steps: log.filter(({ storedAtUs }, i) =>
      log.slice(0, i).some((before) => before.storedAtUs > storedAtUs),
    ).length,
  };
}

/** Counts each text. */
export function countBy(names: readonly string[]): Record<string, number> {
  const entries = names.map((name) => [name, names.filter((other) => other === name).length] as const);
  return Object.fromEntries(entries);
}

/** The longest time for which what a redaction took back had been said: since the last delta of its range, or the first of all where the range ends before that. */
function retractionOf(redactions: readonly Json[], deltas: readonly Json[]): number | null {
  const times = redactions.flatMap((redaction) => {
    const before = deltas.filter(({ seq }) => seq < redaction.seq);
    const said = before.findLast(({ seq }) => seq <= (redaction["to_seq"] as number)) ?? before[0];
    return said ? [redaction.at - said.at] : [];
  });
  return times.length === 0 ? null : Math.max(...times);
}

/** From the first output to the end without waits; undefined where there was no output. */
export function recountDecodeUs(log: readonly StoredBytes[]): number | undefined {
  const events = parse(log);
  const first = events.find(({ type }) => OUTPUT.includes(type));
  return first && timeOf(spansOf(events), ({ from, isWait }) => !isWait && from.seq >= first.seq);
}

interface Span {
  readonly from: Json;
  readonly us: number;
  /** Some tool call is without an answer throughout. */
  readonly isWait: boolean;
}

/** Returns the time between each event and the next one, up to the end. A call is over with the first later event that answers it or takes it back. */
function spansOf(events: readonly Json[]): Span[] {
  const waits = events
    .filter(({ type }) => type === "tool.call")
    .map((call) => {
      const over = events.find(
        ({ seq, type, ...event }) =>
          seq > call.seq &&
          ((type === "tool.result" && event["call_id"] === call["call_id"]) ||
            (type === "output.rewind" && (event["to_seq"] as number) < call.seq)),
      );
      return { from: call.seq, to: over?.seq ?? Infinity };
    });
  return events.slice(0, -1).map((from, i) => ({
    from,
    us: (events[i + 1]?.at ?? from.at) - from.at,
    isWait: waits.some((wait) => wait.from <= from.seq && from.seq < wait.to),
  }));
}

function timeOf(spans: readonly Span[], isCounted: (span: Span) => boolean): number {
  return spans.filter((span) => isCounted(span)).reduce((sum, { us }) => sum + us, 0);
}

function parse(log: readonly StoredBytes[]): Json[] {
  let last = 0;
  return log.map(({ payload, storedAtUs }): Json => {
    last = Math.max(last, storedAtUs);
    return { ...(JSON.parse(new TextDecoder().decode(payload)) as Json), at: last };
  });
}
