import { checkpointSubject, type GenerationRef, type StreamSeq, STREAM_START } from "@reprise/protocol";
import { HEADER, type Publish } from "@reprise/broker";
import { LF, splitLines } from "../read/decode-checkpoint.ts";
import type { LogSnapshot } from "../read/stored-event.ts";

/*
 * A checkpoint is a prefix of a log in one message: the payloads of its events, each ended by a LF (payloads are JSON on one line and contain
 * none). It only ever holds events that are stored. So an old checkpoint, or one that a fenced worker wrote late, is still a true prefix, and the
 * tail after it completes it.
 *
 * When one is due: every 64 events or 2 s, as long as a checkpoint is small. A big one is rewritten only when the log has grown by a quarter:
 * rewriting n events every 64 would cost n²/128 event writes; this rule costs at most 5 times the log.
 */
const EVERY_EVENTS = 64;
const EVERY_MS = 2_000;
const SMALL_BYTES = 16 * 1_024;
const GROWTH = 4;
/** Room for the first events after the checkpoint's start: a large request is not copied again for each of them. */
const FIRST_BYTES = 4 * 1_024;

export interface Checkpointer {
  /** Tells of an event that is stored. Must be called in the order of the log, without holes. */
  add(payload: Uint8Array, streamSeq: StreamSeq, now: number): void;
  /** The payload of the oldest event, as a view; kept beyond the largest checkpoint. Empty for a log without events. */
  first(): Uint8Array;
  /** The payloads of the log so far, seq 0 first, as views of one memory; undefined once it has outgrown its checkpoint. */
  events(): Uint8Array[] | undefined;
  /** Writes a checkpoint if one is due: for a log that has stopped growing, no `add` will. */
  tick(now: number): void;
  /** Writes what is not written yet and waits for the answer. The log is complete without it, so a failure is only counted. */
  flush(): Promise<void>;
  /** Resolves when no checkpoint is on its way. */
  settled(): Promise<void>;
}

export interface CheckpointerOptions {
  publish: Publish;
  ref: GenerationRef;
  /** The log so far. */
  snapshot: LogSnapshot;
  /** Above this a log gets no further checkpoints and keeps the last one; the broker's largest payload less 4 KB. */
  maxBytes: number;
  now: number;
}

export function createCheckpointer({
  publish,
  ref,
  snapshot,
  maxBytes,
  now,
}: CheckpointerOptions): Checkpointer {
  const subject = checkpointSubject(ref);
  // The checkpoint itself, kept ready: an event is copied to its end once, and writing it makes nothing.
  let lines = Buffer.allocUnsafeSlow(Math.min(sizeOf(snapshot), maxBytes) + FIRST_BYTES);
  let bytes = 0;
  let firstBytes = 0;
  let streamSeq = snapshot.streamSeq;
  let unwritten = 0;
  let unwrittenBytes = 0;
  let writtenAt = now;
  let writing = Promise.resolve();
  for (const payload of snapshot.events) append(payload);

  /** Once a log has outgrown its checkpoint, `bytes` stays above the limit and all memory but the first event's is let go. */
  function append(payload: Uint8Array): void {
    const end = bytes + payload.length + 1;
    if (bytes > maxBytes) return;
    if (bytes === 0) firstBytes = payload.length;
    if (end > maxBytes) lines = copyOf(bytes === 0 ? payload : lines.subarray(0, firstBytes));
    else {
      if (end > lines.length) lines = grow(lines, end, firstBytes);
      lines.set(payload, bytes);
      lines[end - 1] = LF;
    }
    bytes = end;
  }

  function write(at: number): void {
    unwritten = 0;
    unwrittenBytes = 0;
    writtenAt = at;
    const extra = { [HEADER.checkpointStreamSeq]: `${streamSeq}` };
    // A publish may reject: a broker that came back may take smaller messages than before. The log has all events.
    // The client sends the view later, but its bytes never change: events are only added after it.
    writing = publish(subject, lines.subarray(0, bytes), { extra }).then(noop, noop);
  }

  function tick(at: number): void {
    if (unwritten === 0 || bytes > maxBytes) return;
    if (isDue({ unwritten, unwrittenBytes, bytes, sinceMs: at - writtenAt })) write(at);
  }

  return {
    add(payload, seq, at) {
      append(payload);
      streamSeq = seq;
      unwritten++;
      unwrittenBytes += payload.length + 1;
      tick(at);
    },
    first: () => lines.subarray(0, firstBytes),
    // What lies in it never changes, see above.
    events: () => (bytes > maxBytes ? undefined : splitLines(lines.subarray(0, bytes))),
    tick,
    async flush() {
      if (unwritten > 0 && bytes <= maxBytes) write(writtenAt);
      await writing;
    },
    settled: () => writing,
  };
}

/** Writes one checkpoint of a log. Resolves when the broker has accepted or refused it: the log is complete without it. */
export async function storeCheckpoint({
  publish,
  ref,
  snapshot: { events, streamSeq },
  maxBytes,
}: Omit<CheckpointerOptions, "now">): Promise<void> {
  const last = events.at(-1);
  if (!last) return;
  const before = { events: events.slice(0, -1), streamSeq: STREAM_START };
  const checkpointer = createCheckpointer({ publish, ref, snapshot: before, maxBytes, now: 0 });
  checkpointer.add(last, streamSeq, 0);
  await checkpointer.flush();
}

/** Size with a LF after each event. */
function sizeOf({ events }: LogSnapshot): number {
  return events.reduce((bytes, { length }) => bytes + length + 1, 0);
}

/** In memory of its own: Node puts small buffers into a pool, which a view would keep. */
function copyOf(payload: Uint8Array): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(payload.length);
  copy.set(payload);
  return copy;
}

/** Doubles only the room after the first event: a large request is not held twice for a few words after it. */
function grow(lines: Buffer, needed: number, firstBytes: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, lines.length * 2 - firstBytes));
  larger.set(lines);
  return larger;
}

/** True if a checkpoint is due again. */
export function isDue(state: {
  unwritten: number;
  unwrittenBytes: number;
  bytes: number;
  sinceMs: number;
}): boolean {
  const { unwritten, unwrittenBytes, bytes, sinceMs } = state;
  if (unwritten < EVERY_EVENTS && sinceMs < EVERY_MS) return false;
  return bytes <= SMALL_BYTES || unwrittenBytes * GROWTH >= bytes;
}

const noop = () => {};
