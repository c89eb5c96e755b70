import type { Hub, Tail } from "@reprise/log";
import { until } from "./until.ts";

export interface PageOptions {
  hub: Hub;
  tail: Tail;
  /** The first event wanted. */
  fromSeq: number;
  /** The most events, 1 to 1,000. */
  limit: number;
  /** How long to wait for the first event when there is none yet, in milliseconds. */
  waitMs: number;
  /** Ends the waiting early. */
  signal: AbortSignal;
}

/** A page as JSON text, and what it holds. */
export interface EventPageText {
  readonly json: string;
  /** The last event in it; one less than the first one wanted when it is empty. */
  readonly lastSeq: number;
}

/** The most bytes of payloads in a page; one event always fits. */
const MAX_PAGE_BYTES = 1_048_576;

/**
 * A page of what readers may be shown: the payloads are taken as the tail has them, not parsed and written again.
 * @throws RepriseError the tail's failure; `cursor_expired`, `broker_unavailable`
 */
export async function readEventPage({
  hub,
  tail,
  fromSeq,
  limit,
  waitMs,
  signal,
}: PageOptions): Promise<EventPageText> {
  const isDue = () => fromSeq <= tail.shownSeq || tail.isOver || tail.failure !== undefined;
  if (waitMs > 0 && !isDue()) await until(tail, isDue, { waitMs, signal });
  if (tail.failure) throw tail.failure;
  const isBehind = fromSeq < tail.frames.firstSeq && fromSeq <= tail.shownSeq;
  const payloads = isBehind ? await hub.readBehind(tail, fromSeq) : fromMemory(tail, fromSeq, limit);
  const page = payloads.slice(0, limit).map((payload) => Buffer.from(payload).toString());
  const lastSeq = fromSeq + page.length - 1;
  const ended = tail.isOver && lastSeq >= tail.lastSeq;
  const json = `{"object":"list","events":[${page.join(",")}],"cursor":"${tail.cursorAt(lastSeq)}","ended":${ended}}`;
  return { json, lastSeq };
}

function fromMemory(tail: Tail, fromSeq: number, limit: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  let bytes = 0;
  for (let seq = fromSeq; payloads.length < limit; seq++) {
    const payload = tail.payloadAt(seq);
    if (!payload) break;
    bytes += payload.length;
    if (bytes > MAX_PAGE_BYTES && payloads.length > 0) break;
    payloads.push(payload);
  }
  return payloads;
}
