import { retryRejected, Semaphore } from "@reprise/async";
import { type Broker, getBatchDirect, isUnavailable, streamSeqOf, subscribeGuarded } from "@reprise/broker";
import {
  decodeInput,
  type GenerationRef,
  type InputRecord,
  inputStreamOf,
  inputSubject,
  liveInputSubject,
  plus,
  RepriseError,
  type Seq,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";

export interface FollowInputOptions {
  readonly broker: Pick<Broker, "main" | "reads">;
  readonly ref: GenerationRef;
  /** The last entry that is already consumed; 0 for none. */
  readonly after: Seq;
  readonly signal: AbortSignal;
  /** Called with messages of the live feed that can't be decoded. */
  readonly onError: (error: unknown) => void;
}

const BATCH = { maxMessages: 256, maxBytes: 256 * 1_024 };
/** Batches under way at once in a process: the broker closes a connection to which 64 MiB are waiting. */
const reads = new Semaphore(32);
/** The feed may lose the last record, and no later one shows that: the log is read after so long without a record. */
const PROBE_MS = 1_000;
/** Between two reads while the broker does not answer. */
const PAUSE_MS = 100;
/** Records that the feed has shown and that wait; beyond that they are read from the log. */
const MAX_LIVE = 256;

/**
 * Follows a generation's input log after an entry, until its `input.end`: what is stored, and then what is stored from now on. The live feed is a hint;
 * wherever it has a gap, the log is read. While the broker does not answer, it waits.
 * @throws RepriseError `cursor_expired` if entries are no longer kept, `protocol_violation`; the signal's reason once it is aborted
 */
export async function* followInput(options: FollowInputOptions): AsyncGenerator<InputRecord> {
  const { broker, ref, signal } = options;
  const stream = inputStreamOf(ref.generation);
  using feed = new InputFeed(options);
  let last = options.after;
  let afterStreamSeq: StreamSeq = STREAM_START;
  for (;;) {
    // Everything that is stored by now.
    for (let more = true; more;) {
      const request = { ...BATCH, afterStreamSeq, subject: inputSubject(ref) };
      const read = () => reads.run(() => getBatchDirect(broker.reads, stream, request), signal);
      const batch = await retryRejected(read, isUnavailable, { pauseMs: PAUSE_MS, signal });
      signal.throwIfAborted();
      for (const message of batch.messages) {
        afterStreamSeq = streamSeqOf(message);
        const record = decodeInput(Uint8Array.from(message.data));
        if (record.seq <= last) continue;
        if (record.first > plus(last, 1)) throw inputLost(plus(last, 1));
        last = record.seq;
        yield record;
        if (record.entry.type === "input.end") return;
      }
      more = batch.more;
    }
    // Everything that the feed shows without a gap.
    for (;;) {
      const shown = await feed.next();
      if (!shown || shown.record.first > plus(last, 1)) break;
      const { record } = shown;
      if (record.seq <= last) continue;
      last = record.seq;
      afterStreamSeq = shown.streamSeq;
      yield record;
      if (record.entry.type === "input.end") return;
    }
  }
}

function inputLost(next: Seq): RepriseError {
  return new RepriseError("cursor_expired", `Entry ${next} of the input is no longer kept.`);
}

interface ShownRecord {
  readonly record: InputRecord;
  readonly streamSeq: StreamSeq;
}

/** The records that the broker republishes. */
class InputFeed implements Disposable {
  readonly #signal: AbortSignal;
  readonly #owned = new DisposableStack();
  #shown: ShownRecord[] = [];
  #hasLost = false;
  #wake: () => void = () => {};

  constructor({ broker, ref, signal, onError }: FollowInputOptions) {
    this.#signal = signal;
    const live = subscribeGuarded(broker.main, liveInputSubject(ref), {
      onMessage: (message) =>
        this.#take({
          record: decodeInput(Uint8Array.from(message.data)),
          streamSeq: streamSeqOf(message),
        }),
      onError,
    });
    this.#owned.defer(() => live.unsubscribe());
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort);
    this.#owned.defer(() => signal.removeEventListener("abort", onAbort));
  }

  /** Resolves with the next record; with undefined if the log has to be read. */
  async next(): Promise<ShownRecord | undefined> {
    if (this.#shown.length === 0 && !this.#hasLost) await this.#wait();
    this.#signal.throwIfAborted();
    if (!this.#hasLost) return this.#shown.shift();
    this.#hasLost = false;
    this.#shown = [];
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }

  #take(shown: ShownRecord): void {
    if (this.#shown.length < MAX_LIVE) this.#shown.push(shown);
    else this.#hasLost = true;
    this.#wake();
  }

  async #wait(): Promise<void> {
    if (this.#signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, PROBE_MS);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
  }
}
