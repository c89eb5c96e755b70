import type { Hub, Tail } from "@reprise/log";

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

/** The most bytes of payloads in a page; one event always fits. */
const MAX_PAGE_BYTES = 1_048_576;

/** A page as JSON text: the payloads are taken as they are stored, not parsed and written again. */
export async function readEventPage({
  hub,
  tail,
  fromSeq,
  limit,
  waitMs,
  signal,
}: PageOptions): Promise<string> {
  if (fromSeq > tail.lastSeq && !tail.ended && waitMs > 0) await progress(tail, waitMs, signal);
  if (tail.failure) throw tail.failure;
  const payloads =
    fromSeq < tail.frames.firstSeq ? await hub.readBehind(tail, fromSeq) : fromMemory(tail, fromSeq, limit);
  const page = payloads.slice(0, limit).map((payload) => Buffer.from(payload).toString());
  const lastSeq = fromSeq + page.length - 1;
  const ended = tail.ended && lastSeq >= tail.lastSeq;
  return `{"object":"list","events":[${page.join(",")}],"cursor":"${tail.cursorAt(lastSeq)}","ended":${ended}}`;
}

function fromMemory(tail: Tail, fromSeq: number, limit: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  let bytes = 0;
  for (let seq = fromSeq; payloads.length < limit; seq++) {
    const payload = tail.frames.payloadAt(seq);
    if (!payload) break;
    bytes += payload.length;
    if (bytes > MAX_PAGE_BYTES && payloads.length > 0) break;
    payloads.push(payload);
  }
  return payloads;
}

/** Resolves at the first event that comes, or when the time is up, or when the waiting is called off. */
function progress(tail: Tail, waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopListening();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    const stopListening = tail.listen(done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
