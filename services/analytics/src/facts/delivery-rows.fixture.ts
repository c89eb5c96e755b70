import {
  attemptRow,
  clientRow,
  connectionRow,
  type DeliveryRow,
  encodeSketch,
  type GenerationDelivery,
  type GenerationRow,
  Sketch,
  toBase64,
} from "@reprise/facts";
import { asSeq, type DeliveryMark, type GenerationRef } from "@reprise/protocol";
import type { SeededRandom } from "@reprise/testkit";

/** Any row of deliveries that a generation can have. */
export function anyDelivery(
  { tenant, generation }: Pick<GenerationRow, "tenant" | "generation">,
  aroundUs: number,
  random: SeededRandom,
): DeliveryRow {
  const ref = { tenant, generation } as GenerationRef;
  // No two at once: of two client's words the last counts.
  const place = { ...ref, storedAtUs: aroundUs + random.integer(0, 1_000_000_000) };
  const kind = random.integer(0, 3);
  const at = new Date(aroundUs / 1_000).toISOString();
  if (kind === 0)
    return attemptRow(place, {
      kind: "attempt",
      at,
      attempt: random.integer(1, 1_000_000),
      model: "sim",
      engine_first_ms: random.integer(0, 1_000),
      append_ms: random.integer(0, 10),
    });
  if (kind === 1) {
    const timings = {
      ...(random.chance(0.7) && { round_trip_ms: random.integer(0, 300) }),
      ...(random.chance(0.7) && { first_text_ms: random.integer(0, 3_000) }),
      ...(random.chance(0.5) && { longest_gap_ms: random.integer(0, 3_000) }),
      ...(random.chance(0.5) && { reconnects: random.integer(0, 5) }),
    };
    return clientRow(place, { kind: "timings", at, by: "ann", timings });
  }
  return connectionRow(place, anyMark(at, random));
}

function anyMark(at: string, random: SeededRandom): DeliveryMark {
  const from = random.integer(1, 50);
  const isLive = random.chance(0.8);
  const received = random.integer(0, 100);
  const shown = received + random.integer(0, 100);
  const gaps = new Sketch();
  for (let n = random.integer(0, 5); n > 0; n--) gaps.add(random.integer(0, 5_000_000));
  return {
    reader: `rdr_${random.integer(0, 1_000_000_000)}`,
    protocol: random.pick(["sse", "sse", "sse", "page", "snapshot"]),
    address: "loopback",
    by: "ann",
    from_seq: asSeq(from),
    seq: asSeq(from - 1 + random.integer(0, 50)),
    ...(isLive && { known_seq: asSeq(random.integer(0, 100)) }),
    started_at: at,
    ...(random.chance(0.9) && { ended_at: at }),
    ...(isLive && { finished: random.chance(0.5) }),
    ...(random.chance(0.5) && {
      first_output: {
        received_ms: received,
        shown_ms: shown,
        // No two the same: of two streams the one that was handed it first counts.
        sent_ms: shown + random.integer(0, 1_000_000) / 1_000,
      },
    }),
    ...(gaps.summary.count > 0 && { gaps: toBase64(encodeSketch(gaps)) }),
  };
}

/** Sums up a generation's deliveries without SQL; undefined if it has none. */
export function recountDelivery(
  { tenant, generation }: Pick<GenerationRow, "tenant" | "generation">,
  all: readonly DeliveryRow[],
): GenerationDelivery | undefined {
  const own = all.filter((row) => row.tenant === tenant && row.generation === generation);
  if (own.length === 0) return undefined;
  const connections = [
    ...Map.groupBy(
      own.filter(({ kind }) => kind === "connection"),
      ({ reader }) => reader,
    ).values(),
  ].map(toNewest);
  const streams = connections.filter(({ protocol }) => protocol === "sse");
  const sum = (of: (row: DeliveryRow) => number) => streams.reduce((total, row) => total + of(row), 0);
  const [first] = streams
    .filter(({ first_sent_us: sent }) => sent !== null)
    .toSorted((one, other) => (one.first_sent_us ?? 0) - (other.first_sent_us ?? 0));
  const [attempt] = own
    .filter(({ kind }) => kind === "attempt")
    .toSorted((one, other) => (one.attempt ?? 0) - (other.attempt ?? 0));
  const client = own
    .filter(({ kind }) => kind === "client")
    .toSorted((one, other) => one.recorded_us - other.recorded_us)
    .at(-1);
  const gaps = streams.flatMap((row) => row.gaps ?? []);
  const { first_received_us: received = null, first_shown_us: shown = null } = first ?? {};
  return {
    streams: streams.length,
    answers: connections.length - streams.length,
    resumes: sum((row) => Number((row.from_seq ?? 0) > 1)),
    disconnects: sum((row) => Number(row.ended_us === null || row.is_finished === false)),
    finished: sum((row) => Number(row.is_finished === true)),
    events: sum((row) => Math.max(0, (row.seq ?? 0) - (row.from_seq ?? 0) + 1)),
    replayed: sum((row) => {
      const known = Math.min(row.seq ?? 0, row.known_seq ?? row.seq ?? 0);
      return Math.max(0, known - (row.from_seq ?? 0) + 1);
    }),
    received_us: received,
    held_us: received === null || shown === null ? null : shown - received,
    sent_us: shown === null ? null : (first?.first_sent_us ?? 0) - shown,
    gaps: gaps.length > 0 ? gaps : null,
    engine_first_us: attempt?.engine_first_us ?? null,
    append_us: attempt?.append_us ?? null,
    round_trip_us: client?.round_trip_us ?? null,
    first_text_us: client?.first_text_us ?? null,
    longest_gap_us: client?.longest_gap_us ?? null,
    reconnects: client?.reconnects ?? null,
  };
}

/** Returns the row of a connection that has an end, else its newest row. */
function toNewest(rows: readonly DeliveryRow[]): DeliveryRow {
  const ended = rows.filter((row) => row.ended_us !== null);
  const [newest] = (ended.length > 0 ? ended : rows).toSorted((a, b) => b.recorded_us - a.recorded_us);
  if (!newest) throw new Error("A connection has a row.");
  return newest;
}
