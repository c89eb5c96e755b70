import type { StoredBytes } from "./history.fixture.ts";

/* A second way to the same numbers: every event is parsed, all are kept, and each number is computed from all of them by itself. It shares nothing with the fold. */

type Json = Record<string, unknown> & { seq: number; type: string; at: number };

export function recount(log: readonly StoredBytes[]) {
  let last = 0;
  const events = log.map(({ payload, storedAtUs }): Json => {
    last = Math.max(last, storedAtUs);
    return { ...(JSON.parse(new TextDecoder().decode(payload)) as Json), at: last };
  });
  const of = (...types: string[]) => events.filter(({ type }) => types.includes(type));
  const deltas = of("output.delta", "reasoning.delta");
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
  const first = deltas[0];
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
    tokensOf(of("reasoning.delta")) +
    calls.reduce(
      (sum, call: Partial<Json>) => sum + ((call["reasoning_tokens"] as number | undefined) ?? 0),
      0,
    );
  return {
    engine: started.at(-1)?.["engine"] ?? null,
    status: end.type.slice("generation.".length),
    queue_us: started[0] ? started[0].at - requested.at : null,
    first_us: first ? first.at - requested.at : null,
    prefill_us: first && began ? first.at - began.at : null,
    total_us: end.at - requested.at,
    tool_wait_us: waitsOf(events, end),
    gaps,
    stalls: gaps.filter((gap) => gap > 2_000_000).length,
    attempts: started.length,
    takeovers: started.slice(1).length,
    rewinds: of("output.rewind").length,
    events: events.length,
    chunks: deltas.length,
    tool_calls: of("tool.call").length,
    input_tokens: usage.input_tokens ?? said[0] ?? null,
    cached_input_tokens: usage.cached_input_tokens ?? cached[0] ?? null,
    reasoning_tokens: usage.reasoning_tokens ?? (reasoned > 0 ? reasoned : null),
    output_tokens: usage.output_tokens,
    output_tokens_kept: Math.max(0, usage.output_tokens - (tokensOf(counted) - tokensOf(kept))),
    redactions: of("moderation.redacted").length,
    reviews: of("moderation.review").length,
  };
}

/** From the first call that waits to the answer of the last. */
function waitsOf(events: readonly Json[], end: Json): number {
  let [sum, since] = [0, undefined as number | undefined];
  const open = new Set<unknown>();
  for (const event of events) {
    if (event.type === "tool.call") {
      open.add(event["call_id"]);
      since ??= event.at;
    }
    if (event.type === "tool.result") open.delete(event["call_id"]);
    if ((event.type === "tool.result" && open.size === 0) || event === end) {
      if (since !== undefined) sum += event.at - since;
      since = undefined;
    }
  }
  return sum;
}
