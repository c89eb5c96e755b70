import { hash } from "node:crypto";
import { askPatiently, type RowBroker, storeAfter } from "@reprise/stream";
import { readLastRaw } from "@reprise/broker";
import {
  decodeThreadRow,
  encodeThreadRow,
  type GenerationId,
  RepriseError,
  STREAM_START,
  THREADS_STREAM,
  type ThreadName,
  type ThreadRow,
  threadSubject,
  type UnixMs,
} from "@reprise/protocol";

export interface ThreadRun {
  readonly generation: GenerationId;
  /** When it was requested, as its seq 0 has it. */
  readonly requestedAtMs: UnixMs;
}

/** Each time, another create of the same thread has been faster. */
const MOST_TRIES = 16;

/**
 * Which generation a chat or thread is at, by the name that its client gave it, or a request of the package `openai` without a key, by a hash of it. A row
 * lives as long as the live log keeps a generation, or as it was stored for.
 * All methods ask again for the broker's budget, and throw RepriseError `broker_unavailable` then.
 */
export class Threads {
  readonly #broker: RowBroker;

  constructor(broker: RowBroker) {
    this.#broker = broker;
  }

  /** The run that was begun last; undefined where there was none, or its time is over. */
  async current(name: ThreadName): Promise<GenerationId | undefined> {
    return (await this.#read(threadSubject(name, sha256))).row?.generation;
  }

  /**
   * Says that a run is the newest of its thread. A run that was requested before the one that is there, or in the same millisecond, changes nothing.
   * The tenant's keys see what they have begun for an end user also without naming that one, so such a run is begun twice.
   * @param ttlSeconds how long the row is kept. Default: as long as logs
   */
  async begin(
    name: ThreadName,
    run: ThreadRun,
    { ttlSeconds }: { readonly ttlSeconds?: number } = {},
  ): Promise<void> {
    const subject = threadSubject(name, sha256);
    const payload = encodeThreadRow({
      version: 1,
      generation: run.generation,
      requested_at_ms: run.requestedAtMs,
    });
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { row, at } = await this.#read(subject);
      if (row && (row.generation === run.generation || row.requested_at_ms >= run.requestedAtMs)) return;
      const stored = { stream: THREADS_STREAM, subject, payload, expectedLast: at, ttlSeconds };
      if ((await storeAfter(this.#broker, stored)) !== undefined) return;
    }
    const message = `${MOST_TRIES} other runs of this thread were begun meanwhile. Try again.`;
    throw new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
  }

  async #read(subject: string) {
    const last = await askPatiently(this.#broker, () =>
      readLastRaw(this.#broker.reads, THREADS_STREAM, subject),
    );
    const row: ThreadRow | undefined = last?.isPublished ? decodeThreadRow(last.payload) : undefined;
    return { row, at: last?.streamSeq ?? STREAM_START };
  }
}

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}
