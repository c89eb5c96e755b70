import { LIMITS, RepriseError, STREAM_START } from "@reprise/protocol";
import type { Producer, StreamConfig, StreamHead, StreamRecord, StreamState } from "./stream-record.ts";

/*
 * The next record of a stream, as a function of its last one: what a create, an append, a read or a delete adds to the log, or why it adds nothing. A node that
 * has decided by a head that is not the last one is told by the broker, and decides again.
 */

export type NewRecord = Omit<StreamRecord, "id">;

/** Nothing is stored. */
export interface Refused {
  readonly kind: "refused";
  readonly error: RepriseError;
  /** Status in place of the code's own. */
  readonly status?: number;
  /** Headers that the protocol has for it, beside those of the stream's state. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The stream as it is. */
  readonly head?: StreamHead;
}

/** Everything that was asked for is stored already. */
export interface Unchanged {
  readonly kind: "unchanged";
  readonly head: StreamHead;
}

export interface Store {
  readonly kind: "store";
  readonly record: NewRecord;
}

export type Decision = Store | Unchanged | Refused;

export interface Append {
  /** Content type; undefined for none. */
  readonly type: string | undefined;
  readonly data: Uint8Array;
  /** Stream-Seq. */
  readonly order?: string | undefined;
  readonly closes: boolean;
  readonly producer?: Producer | undefined;
}

/** Producers that are remembered, those heard last. */
const MAX_PRODUCERS = 32;
/** Part of its TTL for which a stream that is read is not stored as read again. */
const TOUCH_PART = 0.1;
const NOTHING = new Uint8Array();

/** The stream, unless there is none: it was never created, or is deleted or expired. */
export function liveHead(head: StreamHead | undefined, nowMs: number): StreamHead | undefined {
  if (!head || head.kind === "delete") return undefined;
  const { ttlSeconds, usedAtMs = 0, expiresAt } = head.state;
  if (ttlSeconds !== undefined && nowMs >= usedAtMs + ttlSeconds * 1_000) return undefined;
  if (expiresAt !== undefined && nowMs >= Date.parse(expiresAt)) return undefined;
  return head;
}

export function decideCreate(
  last: StreamHead | undefined,
  { config, data, isClosed }: { config: StreamConfig; data: Uint8Array; isClosed: boolean },
  nowMs: number,
): Decision {
  const head = liveHead(last, nowMs);
  if (head) return isSameConfig(head.state, config, isClosed) ? { kind: "unchanged", head } : differs(head);
  const state = { ...config, bytes: data.length, isClosed, producers: [] };
  const record = { kind: "create", created: STREAM_START, previous: STREAM_START, data } as const;
  return { kind: "store", record: { ...record, state: used(state, nowMs) } };
}

export function decideAppend(last: StreamHead | undefined, append: Append, nowMs: number): Decision {
  const head = liveHead(last, nowMs);
  if (!head) return notFound();
  const { state } = head;
  const { type, data, order, closes, producer } = append;
  const known = producer && state.producers.find(({ id }) => id === producer.id);
  if (producer) {
    const refusal = refuseProducer(head, producer, known);
    if (refusal) return refusal;
  }
  if (state.isClosed) return closes && data.length === 0 && !producer ? unchanged(head) : closed(head);
  if (data.length > 0 && (type === undefined || mediaTypeOf(type) !== mediaTypeOf(state.type)))
    return conflict(head, `Content-Type: the stream has ${state.type}.`, "Content-Type");
  if (order !== undefined && state.order !== undefined && order <= state.order)
    return conflict(head, `Stream-Seq: it has to be after "${state.order}".`, "Stream-Seq");
  const bytes = state.bytes + data.length;
  if (data.length > 0 && bytes > LIMITS.outputTotalBytes) return full(head);
  const others = state.producers.filter((one) => one !== known);
  const next = {
    ...state,
    bytes,
    order: order ?? state.order,
    isClosed: closes,
    producers: producer ? [...others, producer].slice(-MAX_PRODUCERS) : state.producers,
  };
  return { kind: "store", record: toRecord("append", head, used(next, nowMs), data) };
}

/** A stream without a TTL stores no reads, and one with a TTL at most ten in that time. */
export function decideTouch(last: StreamHead | undefined, nowMs: number): Decision {
  const head = liveHead(last, nowMs);
  if (!head) return notFound();
  const { ttlSeconds, usedAtMs = 0 } = head.state;
  if (ttlSeconds === undefined || nowMs - usedAtMs < TOUCH_PART * ttlSeconds * 1_000) return unchanged(head);
  return { kind: "store", record: toRecord("touch", head, used(head.state, nowMs)) };
}

export function decideDelete(last: StreamHead | undefined, nowMs: number): Decision {
  const head = liveHead(last, nowMs);
  if (!head) return notFound();
  const { type } = head.state;
  const state = { type, bytes: 0, isClosed: true, producers: [] };
  return { kind: "store", record: toRecord("delete", head, state) };
}

/** Undefined for the next append of a producer, or the first one of a new epoch. */
function refuseProducer(
  head: StreamHead,
  { epoch, seq }: Producer,
  known: Producer | undefined,
): Decision | undefined {
  if (known && epoch < known.epoch) {
    const error = new RepriseError("producer_fenced", "Producer-Epoch: a later epoch has appended.", {
      param: "Producer-Epoch",
    });
    return { kind: "refused", error, status: 403, headers: { "producer-epoch": `${known.epoch}` }, head };
  }
  if (known?.epoch === epoch && seq <= known.seq) return unchanged(head);
  const expected = known?.epoch === epoch ? known.seq + 1 : 0;
  if (seq === expected) return undefined;
  if (head.state.isClosed) return closed(head);
  if (known && epoch > known.epoch)
    return {
      kind: "refused",
      error: new RepriseError("invalid_request", "Producer-Seq: an epoch begins with 0.", {
        param: "Producer-Seq",
      }),
      head,
    };
  return {
    kind: "refused",
    error: new RepriseError("output_gap", `Producer-Seq: ${seq} is not the next one; send ${expected}.`, {
      param: "Producer-Seq",
    }),
    headers: { "producer-expected-seq": `${expected}`, "producer-received-seq": `${seq}` },
    head,
  };
}

function toRecord(
  kind: NewRecord["kind"],
  { created, tail }: StreamHead,
  state: StreamState,
  data: Uint8Array = NOTHING,
): NewRecord {
  return { kind, created, previous: tail, state, data };
}

function used(state: StreamState, nowMs: number): StreamState {
  return state.ttlSeconds === undefined ? state : { ...state, usedAtMs: nowMs };
}

/** A content type without its parameters. */
export function mediaTypeOf(type: string): string {
  return (type.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function isSameConfig(state: StreamState, config: StreamConfig, isClosed: boolean): boolean {
  const timeOf = ({ expiresAt }: StreamConfig) =>
    expiresAt === undefined ? undefined : Date.parse(expiresAt);
  return (
    mediaTypeOf(state.type) === mediaTypeOf(config.type) &&
    state.ttlSeconds === config.ttlSeconds &&
    timeOf(state) === timeOf(config) &&
    state.isClosed === isClosed
  );
}

function unchanged(head: StreamHead): Unchanged {
  return { kind: "unchanged", head };
}

export function notFound(): Refused {
  return {
    kind: "refused",
    error: new RepriseError("stream_not_found", "There is no stream with this name."),
  };
}

function differs(head: StreamHead): Refused {
  return conflict(head, "The stream has another content type, expiry or state of closure.", undefined);
}

function conflict(head: StreamHead, message: string, param: string | undefined): Refused {
  return { kind: "refused", error: new RepriseError("stream_conflict", message, { param }), head };
}

function closed(head: StreamHead): Refused {
  return {
    kind: "refused",
    error: new RepriseError("stream_closed", "The stream is closed; it takes no more."),
    head,
  };
}

function full(head: StreamHead): Refused {
  const message = `stream.total_bytes: a stream has at most ${LIMITS.outputTotalBytes} bytes.`;
  const error = new RepriseError("limit_exceeded", message, {
    param: "stream.total_bytes",
    retryable: false,
  });
  return { kind: "refused", error, head };
}
