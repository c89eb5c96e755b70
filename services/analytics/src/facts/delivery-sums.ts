import type { DeliveredRow, GenerationDelivery } from "@reprise/facts";
import type { GenerationRef } from "@reprise/protocol";
import { GENERATIONS } from "./fact-tables.ts";

/** A generation may have been read for so long before it ended. In microseconds. */
export const LONGEST_READING_US = 86_400_000_000;

const STREAM = "kind = 'connection' and protocol = 'sse'";
/** So long after a generation's end what is recorded of its deliveries counts: a node that died is told of some two days later. In microseconds. */
export const LATEST_RECORD_US = 7 * LONGEST_READING_US;

/** A value of the first row of some in an order, or of the last one. Takes the memory of one number, unlike `array_agg`. */
function firstOf(value: string, order: string, where: string, last?: "last"): string {
  return `${last ? "arg_max_null" : "arg_min_null"}(${value}, ${order}) filter (where ${where})`;
}

/* Values of the stream that was first to get output; of the attempt that was first to produce text; the client's last report. */
const ofStream = (value: string) =>
  firstOf(value, "first_sent_us", `${STREAM} and first_sent_us is not null`);
const ofAttempt = (value: string) => firstOf(value, "attempt", "kind = 'attempt'");
const ofClient = (value: string) => firstOf(value, "recorded_us", "kind = 'client'", "last");

/** The SQL that sums up the delivery rows of one generation. */
export const DELIVERY_SUMS: Readonly<Record<keyof GenerationDelivery, string>> = {
  streams: `count(*) filter (where ${STREAM})`,
  answers: "count(*) filter (where kind = 'connection' and protocol <> 'sse')",
  resumes: `count(*) filter (where ${STREAM} and from_seq > 1)`,
  disconnects: `count(*) filter (where ${STREAM} and (ended_us is null or not coalesce(is_finished, true)))`,
  finished: `count(*) filter (where ${STREAM} and is_finished)`,
  events: `coalesce(sum(greatest(0, seq - from_seq + 1)) filter (where ${STREAM}), 0)`,
  replayed: `coalesce(sum(greatest(0, least(seq, coalesce(known_seq, seq)) - from_seq + 1)) filter (where ${STREAM}), 0)`,
  received_us: ofStream("first_received_us"),
  held_us: ofStream("first_shown_us - first_received_us"),
  sent_us: ofStream("first_sent_us - first_shown_us"),
  gaps: `array_agg(gaps) filter (where ${STREAM} and gaps is not null)`,
  engine_first_us: ofAttempt("engine_first_us"),
  append_us: ofAttempt("append_us"),
  round_trip_us: ofClient("round_trip_us"),
  first_text_us: ofClient("first_text_us"),
  longest_gap_us: ofClient("longest_gap_us"),
  reconnects: ofClient("reconnects"),
};

/**
 * Ranks a connection's rows so that the valid one is first: a last mark whose acknowledgement was lost is stored again, and a node that was taken for dead may
 * come back.
 */
const NTH_OF_READER =
  "row_number() over (partition by tenant, generation, kind, reader order by ended_us is null, recorded_us desc, seq desc)";

/** Reads rows of deliveries with each connection once. @param deliveries what has them, with its conditions */
export function countedOnce(deliveries: string): string {
  return `(select * from (select *, ${NTH_OF_READER} as nth from ${deliveries}) as recorded where kind <> 'connection' or nth = 1) as counted`;
}

/**
 * Reads what rows of deliveries come to, by generation.
 * @param deliveries what has them, with its conditions
 * @param more sums beside those, by their names
 */
export function sumDeliveries(deliveries: string, more: Readonly<Record<string, string>> = {}): string {
  const all = { ...DELIVERY_SUMS, ...more };
  const sums = Object.entries(all).map(([name, sum]) => `${sum} as ${name}`);
  return `select tenant, generation, ${sums.join(", ")} from ${deliveries} group by tenant, generation`;
}

/**
 * Rows of generations with what their rows of `deliveries` come to, each connection counted once, in a column of JSON that is null if they have none.
 * @param found reads the rows
 * @param deliveries what has the others, with its conditions
 */
export function joinDelivery(found: string, deliveries: string): string {
  return `
    with found as (${found}),
      delivered as (${sumDeliveries(countedOnce(deliveries))})
    select found.*, case when delivered.generation is null then null else to_json(delivered) end as delivery
    from found left join delivered on found.tenant = delivered.tenant and found.generation = delivered.generation`;
}

/** A condition for `deliveries`. */
export const DELIVERIES_OF_FOUND = "(tenant, generation) in (select tenant, generation from found)";
export const NEWEST_FIRST = "ended_us desc, generation desc";

/** @param found a row of generations, with that column or without it */
export function toDeliveredRow(found: Readonly<Record<string, unknown>>): DeliveredRow {
  const row = GENERATIONS.toRow(found);
  const { delivery: json } = found;
  if (json === undefined || json === null) return row;
  const sums = JSON.parse(json as string) as GenerationDelivery & GenerationRef;
  const { tenant: _, generation: __, ...delivery } = sums;
  return { ...row, delivery };
}
