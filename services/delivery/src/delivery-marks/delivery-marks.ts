import { Semaphore } from "@reprise/async";
import { type Publish, recordOps } from "@reprise/log";
import { type GenerationRef, logSubject, type NodeId, type DeliveryMark } from "@reprise/protocol";
import { type NewConnection, ConnectionRecord } from "./connection-record.ts";
import { toParts } from "./to-parts.ts";

export interface DeliveryMarksOptions {
  publish: Publish;
  node: NodeId;
  /** Called with how many readers' last marks could not be recorded, once that is over. */
  onLost: (marks: number) => void;
  onError: (error: unknown) => void;
  /** The most last marks that wait for a broker. Default 10,000. */
  maxWaiting?: number;
  random?: () => number;
}

/** How soon it is recorded that a reader has come or gone, and how often where the others are. */
const BATCH_MS = 1_000;
const MOVED_MS = 5_000;
const SWEEP_MS = 200;
const RECORDS_AT_ONCE = 32;
const MAX_WAITING = 10_000;
/** How long `close` goes on while the broker is away. */
const CLOSE_MS = 3_000;

/** This node's readers of one generation. */
interface Audience {
  readonly ref: GenerationRef;
  readonly readers: Set<ConnectionRecord>;
  /** Last marks of connections that are gone. */
  readonly ended: DeliveryMark[];
  dueAtMs: number;
  sending: Promise<void> | undefined;
}

/**
 * Records in OPS what every connection was handed: when it comes, when it goes, and where it is by then. A position is asked for,
 * every 4 or 5 s, and never told with an event. One record holds the new marks of all readers of a generation, and one record at a time is in
 * flight, so they are stored in order; what could not be stored is sent again with the newest positions.
 *
 * No call waits for it. While the broker is away, the marks of connections that are gone are kept up to a limit, and beyond that dropped
 * and counted.
 */
export class DeliveryMarks {
  readonly #options: Required<DeliveryMarksOptions>;
  readonly #audiences = new Map<string, Audience>();
  readonly #gate = new Semaphore(RECORDS_AT_ONCE);
  #timer: NodeJS.Timeout | undefined;
  #closeBy = Infinity;
  #waiting = 0;
  #lost = 0;
  #lostTold = 0;

  constructor({ maxWaiting = MAX_WAITING, random = Math.random, ...options }: DeliveryMarksOptions) {
    this.#options = { ...options, maxWaiting, random };
  }

  /** How many last marks were lost, since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes note of a reader, until what is returned is called. */
  enter(reader: NewConnection): () => void {
    const audience = this.#audienceOf(reader.ref);
    const record = new ConnectionRecord(reader);
    audience.readers.add(record);
    hasten(audience);
    return () => this.#leave(audience, record);
  }

  /** Records what is left, for 3 s at most where the broker does not answer. To be called when every connection is gone. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closeBy = performance.now() + CLOSE_MS;
    await Promise.all(
      [...this.#audiences.values()].map(async (audience) => {
        await audience.sending;
        await this.#gate.run(() => this.#record(audience));
      }),
    );
    this.#lost += this.#waiting;
    this.#waiting = 0;
    this.#tellLost();
  }

  #audienceOf(ref: GenerationRef): Audience {
    const key = logSubject(ref);
    let audience = this.#audiences.get(key);
    if (!audience) {
      audience = { ref, readers: new Set(), ended: [], dueAtMs: Infinity, sending: undefined };
      this.#audiences.set(key, audience);
      this.#timer ??= setInterval(() => this.#sweep(performance.now()), SWEEP_MS).unref();
    }
    return audience;
  }

  #leave(audience: Audience, record: ConnectionRecord): void {
    if (!audience.readers.delete(record)) return;
    const mark = record.end();
    if (this.#waiting === this.#options.maxWaiting) {
      this.#lost++;
      return;
    }
    this.#waiting++;
    audience.ended.push(mark);
    hasten(audience);
  }

  #sweep(nowMs: number): void {
    for (const [key, audience] of this.#audiences) {
      if (audience.sending || audience.dueAtMs > nowMs) continue;
      if (audience.readers.size === 0 && audience.ended.length === 0) this.#audiences.delete(key);
      else {
        audience.sending = this.#gate
          .run(() => this.#record(audience))
          .catch(this.#options.onError)
          .finally(() => (audience.sending = undefined));
      }
    }
    if (this.#audiences.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #record(audience: Audience): Promise<void> {
    const { publish, node, random } = this.#options;
    const { ref, readers, ended } = audience;
    // The records of generations that began together come apart.
    audience.dueAtMs = performance.now() + MOVED_MS * (1 - random() / 4);
    const news = [...readers]
      .filter(({ isNews }) => isNews)
      .map((record) => ({ record, mark: record.mark() }));
    const gone = [...ended];
    for (const part of toParts([...gone, ...news.map(({ mark }) => mark)])) {
      const leftMs = this.#closeBy - performance.now();
      if (leftMs < 0) return;
      // A retry would store outdated positions, so there is none, except at the end, when positions do not change.
      const budgetMs = leftMs === Infinity ? 0 : leftMs;
      const record = { kind: "delivered", at: new Date().toISOString(), node, readers: part } as const;
      if (!(await recordOps(publish, ref, record, { budgetMs }))) return hasten(audience);
    }
    for (const { record, mark } of news) record.said(mark);
    ended.splice(0, gone.length);
    this.#waiting -= gone.length;
    this.#tellLost();
  }

  #tellLost(): void {
    if (this.#lost > this.#lostTold) this.#options.onLost(this.#lost - this.#lostTold);
    this.#lostTold = this.#lost;
  }
}

function hasten(audience: Audience): void {
  audience.dueAtMs = Math.min(audience.dueAtMs, performance.now() + BATCH_MS);
}
