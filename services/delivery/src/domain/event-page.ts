import { type Seq, plus } from "@reprise/protocol";
import type { Hub, GenerationCache } from "@reprise/stream";
import { waitForCache } from "./wait-for-cache.ts";

export interface PageOptions {
  hub: Hub;
  cache: GenerationCache;
  /** The first event wanted. */
  fromSeq: Seq;
  /** The most events, 1 to 1,000. */
  limit: number;
  /** Milliseconds to wait for the first event if there is none yet. */
  waitMs: number;
  /** Ends the waiting early. */
  signal: AbortSignal;
}

/** A page as JSON text, and what it holds. */
export interface EventPageJson {
  readonly json: string;
  /** The last event in it; one less than the first one wanted when it is empty. */
  readonly lastSeq: Seq;
}

/** The most bytes of payloads in a page; one event always fits. */
const MAX_PAGE_BYTES = 1_048_576;

/**
 * A page of what readers may be shown: the payloads are taken as the cache has them, not parsed and written again.
 * @throws RepriseError the cache's failure; `cursor_expired`, `broker_unavailable`
 */
export async function readEventPage(options: PageOptions): Promise<EventPageJson> {
  const { payloads, lastSeq, cursor, ended } = await readEvents(options);
  return { json: encodeEventPage(payloads, { cursor, ended }), lastSeq };
}

/** Events as the cache has them. */
export interface EventsRead {
  readonly payloads: readonly Uint8Array[];
  /** The last of them; one less than the first one wanted if there are none. */
  readonly lastSeq: Seq;
  readonly cursor: string;
  /** True if no more events will follow. */
  readonly ended: boolean;
}

/** The same as payloads. @throws RepriseError as `readEventPage` */
export async function readEvents({
  hub,
  cache,
  fromSeq,
  limit,
  waitMs,
  signal,
}: PageOptions): Promise<EventsRead> {
  const isDue = () => fromSeq <= cache.shownSeq || cache.isOver || cache.failure !== undefined;
  if (waitMs > 0 && !isDue()) await waitForCache(cache, isDue, { waitMs, signal });
  if (cache.failure) throw cache.failure;
  const isBehind = fromSeq < cache.shown.frames.firstSeq && fromSeq <= cache.shownSeq;
  const payloads = isBehind ? await hub.readHistory(cache, fromSeq) : fromMemory(cache, fromSeq, limit);
  const page = payloads.slice(0, limit);
  const lastSeq = plus(fromSeq, page.length - 1);
  const ended = cache.isOver && lastSeq >= cache.lastSeq;
  return { payloads: page, lastSeq, cursor: cache.events.cursorAt(lastSeq), ended };
}

/** A page as the live log and the archive have it: events as they are stored, JSON already. */
export function encodeEventPage(
  payloads: readonly Uint8Array[],
  { cursor, ended }: { cursor: string; ended: boolean },
): string {
  const events = payloads.map((payload) => Buffer.from(payload).toString()).join(",");
  return `{"object":"list","events":[${events}],"cursor":"${cursor}","ended":${ended}}`;
}

function fromMemory(cache: GenerationCache, fromSeq: Seq, limit: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  let bytes = 0;
  for (let seq = fromSeq; payloads.length < limit; seq++) {
    const payload = cache.shown.payloadAt(seq);
    if (!payload) break;
    bytes += payload.length;
    if (bytes > MAX_PAGE_BYTES && payloads.length > 0) break;
    payloads.push(payload);
  }
  return payloads;
}
