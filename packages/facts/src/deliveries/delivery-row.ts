import type {
  AttemptRecord,
  DeliveryMark,
  GenerationRef,
  ReaderProtocol,
  TimingsRecord,
} from "@reprise/protocol";
import { fromBase64 } from "../base64.ts";
import { decodeSketch } from "../sketch/sketch-codec.ts";

/**
 * A delivery of a generation to its readers, as recorded in OPS: one row for each connection that is over, each attempt of a worker, and each report of a
 * client. Fields that a kind does not have are null.
 * Durations are in microseconds. It has no name and no address of a reader.
 */
export interface DeliveryRow {
  readonly tenant: string;
  readonly generation: string;
  readonly kind: "connection" | "attempt" | "client";
  /** When the broker stored the record that it is of, in microseconds since 1970. */
  readonly recorded_us: number;

  /** For a connection: its id, and the fields of its `DeliveryMark`, in microseconds since 1970 by its node's clock. */
  readonly reader: string | null;
  readonly protocol: ReaderProtocol | null;
  readonly from_seq: number | null;
  readonly seq: number | null;
  readonly known_seq: number | null;
  readonly started_us: number | null;
  /** null: its node has died. */
  readonly ended_us: number | null;
  /** True if it has taken the generation to its end; null: not known. */
  readonly is_finished: boolean | null;
  /** Time from the store of the first output at the broker until the node had it, could show it, and handed it over. */
  readonly first_received_us: number | null;
  readonly first_shown_us: number | null;
  readonly first_sent_us: number | null;
  /** Base64 of a sketch: between two writes of new events. */
  readonly gaps: string | null;

  /** For an attempt: its number, and the fields of its `AttemptRecord`. */
  readonly attempt: number | null;
  readonly engine_first_us: number | null;
  readonly append_us: number | null;

  /** Values that the client reports: not checked. */
  readonly round_trip_us: number | null;
  readonly first_text_us: number | null;
  readonly longest_gap_us: number | null;
  readonly reconnects: number | null;
}

/** The place of a record of OPS. */
export interface RecordPlace extends GenerationRef {
  readonly storedAtUs: number;
}

const NOTHING = {
  reader: null,
  protocol: null,
  from_seq: null,
  seq: null,
  known_seq: null,
  started_us: null,
  ended_us: null,
  is_finished: null,
  first_received_us: null,
  first_shown_us: null,
  first_sent_us: null,
  gaps: null,
  attempt: null,
  engine_first_us: null,
  append_us: null,
  round_trip_us: null,
  first_text_us: null,
  longest_gap_us: null,
  reconnects: null,
} as const;

/** @param mark the last one of its connection */
export function connectionRow(place: RecordPlace, mark: DeliveryMark): DeliveryRow {
  const { first_output: first } = mark;
  return {
    ...NOTHING,
    ...placeOf(place, "connection"),
    reader: mark.reader,
    protocol: mark.protocol,
    from_seq: mark.from_seq,
    seq: mark.seq,
    known_seq: mark.known_seq ?? null,
    started_us: timeUs(mark.started_at),
    ended_us: mark.ended_at === undefined ? null : timeUs(mark.ended_at),
    is_finished: mark.finished ?? null,
    ...(first && {
      first_received_us: toUs(first.received_ms),
      first_shown_us: toUs(first.shown_ms),
      first_sent_us: toUs(first.sent_ms),
    }),
    gaps: mark.gaps === undefined ? null : checkedSketch(mark.gaps),
  };
}

export function attemptRow(place: RecordPlace, record: AttemptRecord): DeliveryRow {
  return {
    ...NOTHING,
    ...placeOf(place, "attempt"),
    attempt: record.attempt,
    engine_first_us: toUs(record.engine_first_ms),
    append_us: toUs(record.append_ms),
  };
}

export function clientRow(place: RecordPlace, { timings }: TimingsRecord): DeliveryRow {
  const { round_trip_ms: roundTrip, first_text_ms: firstText, longest_gap_ms: longestGap } = timings;
  return {
    ...NOTHING,
    ...placeOf(place, "client"),
    round_trip_us: roundTrip === undefined ? null : toUs(roundTrip),
    first_text_us: firstText === undefined ? null : toUs(firstText),
    longest_gap_us: longestGap === undefined ? null : toUs(longestGap),
    reconnects: timings.reconnects ?? null,
  };
}

function placeOf({ tenant, generation, storedAtUs }: RecordPlace, kind: DeliveryRow["kind"]) {
  return { tenant, generation, kind, recorded_us: storedAtUs };
}

/** null for what is no time: a process that is broken into can have anything recorded, and nothing of it may keep a row out. */
function timeUs(iso: string): number | null {
  const ms = Date.parse(iso);
  return Number.isNaN(ms) ? null : toUs(ms);
}

/** null for what is no sketch, for the same reason. */
function checkedSketch(base64: string): string | null {
  try {
    decodeSketch(fromBase64(base64));
    return base64;
  } catch {
    return null;
  }
}

function toUs(ms: number): number {
  return Math.round(ms * 1_000);
}

/** A connection that is not over, as its marks say so far. */
export interface EncodedConnection {
  readonly place: RecordPlace;
  /** Without what no row has: whose it was, and what was withdrawn. */
  readonly mark: DeliveryMark;
}

/** @param mark not a last one */
export function encodeConnection(place: RecordPlace, mark: DeliveryMark): EncodedConnection {
  const { withdrawn: _, ...kept } = mark;
  return { place, mark: { ...kept, by: "" } };
}

/** A connection whose node has died, so that no last mark comes. */
export function lostConnectionRow({ place, mark }: EncodedConnection): DeliveryRow {
  return connectionRow(place, mark);
}
