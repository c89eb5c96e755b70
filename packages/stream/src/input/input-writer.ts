import { pause, retryRejected } from "@reprise/async";
import {
  type Broker,
  ifUnavailable,
  isUnavailable,
  notPublished,
  type Publish,
  readLastRaw,
} from "@reprise/broker";
import {
  decodeInput,
  encodeInput,
  type GenerationRef,
  inputBytes,
  type InputEntry,
  type InputRecord,
  inputStreamOf,
  inputSubject,
  plus,
  RepriseError,
  REQUEST_SEQ,
  type Seq,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";

export interface InputWriterOptions {
  readonly publish: Publish;
  readonly reads: Broker["reads"];
  readonly ref: GenerationRef;
  /** Milliseconds for which entries are published again while the broker does not answer. */
  readonly budgetMs: number;
}

/** The end of an input log. */
export interface InputHead {
  /** The last entry; 0 for none. */
  readonly seq: Seq;
  readonly streamSeq: StreamSeq;
  /** Bytes of text and sound in all entries. */
  readonly bytes: number;
  /** The last `input.commit`; 0 for none. */
  readonly committed: Seq;
  readonly hasEnded: boolean;
}

/** The most bytes of text or sound that a record has, unless one entry has more. */
const RECORD_BYTES = 16 * 1_024;
const PAUSE_MS = 20;
const EMPTY: InputHead = {
  seq: REQUEST_SEQ,
  streamSeq: STREAM_START,
  bytes: 0,
  committed: REQUEST_SEQ,
  hasEnded: false,
};

/**
 * Appends to one generation's input log, for all connections of one node. Clients number their entries, and each number is stored once, at whichever node
 * it arrives: a record is stored only after the one that this writer knows as the last, and after a conflict or a lost answer the last record tells which
 * entries are stored. One record is on its way at a time; entries that arrive meanwhile are merged into the next one.
 */
export class InputWriter {
  readonly #options: InputWriterOptions;
  #head: InputHead | undefined;
  /** Entries after the head, in order. */
  #waiting: InputEntry[] = [];
  #storing: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  /** The records that this writer has stored and no worker has consumed yet. */
  readonly #ahead: { readonly seq: Seq; readonly bytes: number }[] = [];
  #aheadBytes = 0;

  constructor(options: InputWriterOptions) {
    this.#options = options;
  }

  /**
   * Returns the end of the log, as the leader knows it.
   * @throws RepriseError `broker_unavailable`
   */
  async readHead(): Promise<InputHead> {
    const found = await this.#readPatiently();
    // A record on its way continues from the head that it began with.
    if (!this.#storing && this.#waiting.length === 0 && found.seq > this.#last.seq) this.#head = found;
    return found.seq > this.#last.seq ? found : this.#last;
  }

  /**
   * Returns the bytes of the records that this writer has stored and the worker has not consumed.
   * @param consumed the last entry that the worker has consumed
   */
  bytesAfter(consumed: Seq): number {
    for (let [first] = this.#ahead; first && first.seq <= consumed; [first] = this.#ahead) {
      this.#aheadBytes -= first.bytes;
      this.#ahead.shift();
    }
    return this.#aheadBytes;
  }

  /**
   * Returns the entries that are neither stored nor waiting, as far as this writer knows.
   * @throws RepriseError `broker_unavailable`
   */
  async freshOf(first: Seq, entries: readonly InputEntry[]): Promise<readonly InputEntry[]> {
    await this.#open();
    return entries.slice(Math.max(0, this.#next - first));
  }

  /**
   * Stores the entries from `first` on that are not stored yet.
   * @returns the last entry that is stored
   * @throws RepriseError `input_gap` if entries before `first` are missing, `input_ended` after the last entry, `broker_unavailable`
   */
  async append(first: Seq, entries: readonly InputEntry[]): Promise<Seq> {
    await this.#open();
    // Another node may have stored the entries before.
    if (first > this.#next) {
      await this.#storing?.catch(() => {});
      await this.readHead();
    }
    // Nothing is awaited between this and the entries' place among those that wait.
    const next = this.#next;
    if (first > next) throw inputGap(first, next);
    const fresh = entries.slice(next - first);
    const hasEnded = this.#last.hasEnded || this.#waiting.at(-1)?.type === "input.end";
    if (fresh.length > 0 && hasEnded) throw inputEnded(plus(next, -1));
    this.#waiting.push(...fresh);
    const last = plus(first, entries.length - 1);
    while (this.#last.seq < last) {
      if (!this.#storing && this.#waiting.length === 0) throw notStored();
      await (this.#storing ??= this.#store().finally(() => (this.#storing = undefined)));
    }
    return last;
  }

  get #last(): InputHead {
    return this.#head ?? EMPTY;
  }

  /** The number of the entry after those that are stored and those that wait. */
  get #next(): Seq {
    return plus(this.#last.seq, this.#waiting.length + 1);
  }

  async #open(): Promise<void> {
    if (this.#head) return;
    const read = async () => {
      const found = await this.#readPatiently();
      this.#head ??= found;
    };
    await (this.#opening ??= read().finally(() => (this.#opening = undefined)));
  }

  #readPatiently(): Promise<InputHead> {
    const patience = { pauseMs: PAUSE_MS, budgetMs: this.#options.budgetMs };
    return retryRejected(() => readHead(this.#options), isUnavailable, patience);
  }

  /** Stores what waits. While it runs nothing else changes the head. */
  async #store(): Promise<void> {
    const { publish, ref, budgetMs } = this.#options;
    let deadline = performance.now() + budgetMs;
    try {
      while (this.#waiting.length > 0) {
        const head = this.#last;
        const record = toRecord(head, this.#waiting);
        const payload = encodeInput(record);
        const outcome = await publish(inputSubject(ref), payload, { expectedLast: head.streamSeq });
        const found =
          outcome.kind === "stored"
            ? headOf(record, outcome.streamSeq)
            : await readHead(this.#options).catch(ifUnavailable(undefined));
        if (found && found.seq !== head.seq) this.#head = found;
        if (found && found.seq > head.seq) {
          this.#waiting.splice(0, found.seq - head.seq);
          this.#ahead.push({ seq: found.seq, bytes: payload.length });
          this.#aheadBytes += payload.length;
          deadline = performance.now() + budgetMs;
          if (found.hasEnded && this.#waiting.length > 0) throw inputEnded(found.seq);
        } else if (found && found.seq < head.seq) throw inputGap(plus(head.seq, 1), plus(found.seq, 1));
        else if (performance.now() > deadline) throw notStored();
        else await pause(PAUSE_MS);
      }
    } catch (error) {
      // Their clients ask for the next number, and send them again.
      this.#waiting = [];
      throw error;
    }
  }
}

/** Makes a record of the first entries that wait: as many neighbours with text, or with sound, as one record may have. */
function toRecord(head: InputHead, waiting: readonly InputEntry[]): InputRecord {
  const [first, ...others] = waiting as readonly [InputEntry, ...InputEntry[]];
  const merged = [first];
  let bytes = inputBytes(first);
  for (const other of others) {
    bytes += inputBytes(other);
    if (other.type !== first.type || !hasContent(first) || bytes > RECORD_BYTES) break;
    merged.push(other);
  }
  const seq = plus(head.seq, merged.length);
  const committed = first.type === "input.commit" ? seq : head.committed;
  return { first: plus(head.seq, 1), seq, at: head.bytes, committed, entry: merge(merged) };
}

function hasContent({ type }: InputEntry): boolean {
  return type === "input.delta" || type === "input.audio";
}

function merge(entries: readonly InputEntry[]): InputEntry {
  const [first] = entries as readonly [InputEntry];
  if (entries.length === 1) return first;
  if (first.type === "input.delta")
    return { ...first, text: entries.map((entry) => (entry as typeof first).text).join("") };
  if (first.type === "input.audio")
    return { ...first, audio: Buffer.concat(entries.map((entry) => (entry as typeof first).audio)) };
  return first;
}

async function readHead({ reads, ref }: InputWriterOptions): Promise<InputHead> {
  const subject = inputSubject(ref);
  const last = await readLastRaw(reads, inputStreamOf(ref.generation), subject);
  if (!last) return EMPTY;
  if (!last.isPublished) throw notPublished(subject);
  return headOf(decodeInput(last.payload), last.streamSeq);
}

function headOf({ seq, at, committed, entry }: InputRecord, streamSeq: StreamSeq): InputHead {
  return {
    seq,
    streamSeq,
    bytes: at + inputBytes(entry),
    committed,
    hasEnded: entry.type === "input.end",
  };
}

function inputGap(first: Seq, next: Seq): RepriseError {
  return new RepriseError("input_gap", `Entry ${first} is not the next one; send entry ${next}.`);
}

function inputEnded(last: Seq): RepriseError {
  return new RepriseError("input_ended", `The input has ended with entry ${last}; it takes no more.`);
}

function notStored(): RepriseError {
  return new RepriseError("broker_unavailable", "The broker does not store the input; send it again.", {
    retryAfterMs: 1_000,
  });
}
