import {
  type Broker,
  flushConnection,
  ifUnavailable,
  isAnsweredPublished,
  readStreamBatch,
  streamSeqOf,
  subscribeGuarded,
  watchConnection,
} from "@reprise/broker";
import {
  DURABLE_STREAMS_STREAM,
  type DurableStreamName,
  liveDurableStreamSubject,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import { dueForProbe, ProbeSchedule } from "@reprise/stream";
import { decodeRecord, headOf, type StreamHead } from "./stream-record.ts";
import { sha256, type StreamPiece, subjectOf } from "./stream-logs.ts";

export interface StreamFeedPorts {
  readonly broker: Pick<Broker, "main" | "reads">;
  readonly onError: (error: unknown) => void;
}

/** A node's knowledge of a stream that is followed. */
export interface StreamFeed extends Disposable {
  /** Resolves when the broker has the subscription: what is stored after that is heard. */
  readonly ready: Promise<void>;
  /** Tells the feed of a head that was read from the log. */
  saw(head: StreamHead): void;
  /** Resolves with a head that is later than a place; undefined after a time or an abort without one. */
  waitAfter(at: StreamSeq, wait: { ms: number; signal: AbortSignal }): Promise<StreamHead | undefined>;
  /** Returns the pieces after an offset, up to a head; undefined if the log has to be read. */
  piecesAfter(after: StreamSeq, head: StreamHead): readonly StreamPiece[] | undefined;
}

/** The live feed may lose the last record: the log is read after at least this time without one. */
const PROBE_MS = 1_000;
const PROBE = { maxMessages: 16, maxBytes: 256 * 1_024 };
/** Limits of the pieces that a feed, and all feeds of a node, keep for readers that are a few records late. */
const KEPT = { pieces: 32, bytes: 256 * 1_024, bytesOfAll: 32 * 1_024 * 1_024 };

/** Follows streams for all readers of a node: one subscription for each stream that has readers. */
export class StreamFeeds {
  readonly #ports: StreamFeedPorts;
  readonly #feeds = new Map<string, { feed: Feed; readers: number }>();
  #bytes = 0;
  #probes: NodeJS.Timeout | undefined;

  constructor(ports: StreamFeedPorts) {
    this.#ports = ports;
    const doubt = () => {
      for (const { feed } of this.#feeds.values()) feed.doubt();
    };
    watchConnection(ports.broker.main, { onDown: doubt });
  }

  /** Number of streams that have readers. */
  get followed(): number {
    return this.#feeds.size;
  }

  open(stream: DurableStreamName): StreamFeed {
    const key = subjectOf(stream);
    const open = this.#feeds.get(key) ?? { feed: this.#follow(stream), readers: 0 };
    this.#feeds.set(key, open);
    this.#probes ??= setInterval(() => this.#probe(), PROBE_MS);
    open.readers++;
    const { feed } = open;
    return {
      ready: feed.ready,
      saw: (head) => feed.saw(head),
      waitAfter: (at, wait) => feed.waitAfter(at, wait),
      piecesAfter: (after, head) => feed.piecesAfter(after, head),
      [Symbol.dispose]: () => {
        if (--open.readers > 0) return;
        this.#feeds.delete(key);
        feed[Symbol.dispose]();
        if (this.#feeds.size > 0) return;
        clearInterval(this.#probes);
        this.#probes = undefined;
      },
    };
  }

  #probe(): void {
    const feeds = this.#feeds.values().map(({ feed }) => feed);
    for (const feed of dueForProbe(feeds, performance.now(), PROBE_MS))
      void feed.probe().catch(this.#ports.onError);
  }

  #follow(stream: DurableStreamName): Feed {
    const keep = (bytes: number) => {
      if (bytes > 0 && this.#bytes + bytes > KEPT.bytesOfAll) return false;
      this.#bytes += bytes;
      return true;
    };
    return new Feed(stream, this.#ports, keep);
  }
}

class Feed implements Disposable {
  readonly ready: Promise<void>;
  readonly pace = new ProbeSchedule<StreamSeq>(PROBE_MS, STREAM_START, performance.now());
  readonly #subject: string;
  readonly #ports: StreamFeedPorts;
  /** Takes bytes of the node's budget, or gives them back; false if there is no room. */
  readonly #keep: (bytes: number) => boolean;
  readonly #waiting = new Set<() => void>();
  readonly #live: { unsubscribe(): void };
  #head: StreamHead | undefined;
  /** True if the log may have lost the head: an earlier one takes its place then. */
  #isDoubted = false;
  #pieces: StreamPiece[] = [];
  #bytes = 0;

  constructor(stream: DurableStreamName, ports: StreamFeedPorts, keep: (bytes: number) => boolean) {
    const subject = subjectOf(stream);
    this.#subject = subject;
    this.#ports = ports;
    this.#keep = keep;
    const { main } = ports.broker;
    this.#live = subscribeGuarded(main, liveDurableStreamSubject(stream, sha256), {
      onMessage: (message) => {
        if (!isAnsweredPublished(message.headers, { stream: DURABLE_STREAMS_STREAM, subject })) return;
        this.#take(streamSeqOf(message), message.data);
      },
      onError: ports.onError,
    });
    this.ready = flushConnection(main);
  }

  saw(head: StreamHead): void {
    if (!this.#isNews(head.at)) return;
    this.#head = head;
    this.#isDoubted = false;
    this.pace.observe(head.at, performance.now());
    for (const wake of this.#waiting) wake();
  }

  async waitAfter(
    at: StreamSeq,
    { ms, signal }: { ms: number; signal: AbortSignal },
  ): Promise<StreamHead | undefined> {
    const later = () => (this.#head && this.#head.at > at ? this.#head : undefined);
    if (later() || signal.aborted || ms <= 0) return later();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const timer = setTimeout(wake, ms);
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(wake);
    signal.removeEventListener("abort", wake);
    return later();
  }

  piecesAfter(after: StreamSeq, { tail }: StreamHead): readonly StreamPiece[] | undefined {
    const [first] = this.#pieces;
    const isKept =
      first !== undefined && first.previous <= after && this.#pieces.some(({ at }) => at === tail);
    return isKept ? this.#pieces.filter(({ at }) => at > after && at <= tail) : undefined;
  }

  doubt(): void {
    this.#isDoubted = true;
    this.#forget(this.#pieces.length);
  }

  #isNews(at: StreamSeq): boolean {
    return this.#isDoubted || !this.#head || this.#head.at < at;
  }

  #take(at: StreamSeq, payload: Uint8Array): void {
    if (!this.#isNews(at)) return;
    const record = decodeRecord(payload);
    if (record.kind === "append" && record.data.length > 0)
      this.#remember({ at, previous: record.previous, data: Uint8Array.from(record.data) });
    this.saw(headOf(record, at));
  }

  #remember(piece: StreamPiece): void {
    if (this.#pieces.at(-1)?.at !== piece.previous) this.#forget(this.#pieces.length);
    const { length } = piece.data;
    if (length > KEPT.bytes || !this.#keep(length)) return this.#forget(this.#pieces.length);
    this.#pieces.push(piece);
    this.#bytes += length;
    while (this.#bytes > KEPT.bytes || this.#pieces.length > KEPT.pieces) this.#forget(1);
  }

  #forget(count: number): void {
    for (const { data } of this.#pieces.splice(0, count)) {
      this.#bytes -= data.length;
      this.#keep(-data.length);
    }
  }

  /** Takes records that the live feed has lost. */
  async probe(): Promise<void> {
    this.pace.probed(performance.now());
    if (!this.#head) return;
    const request = { subject: this.#subject, afterStreamSeq: this.#head.at, ...PROBE };
    const read = readStreamBatch(this.#ports.broker.reads, DURABLE_STREAMS_STREAM, request);
    for (const { streamSeq, payload } of (await read.catch(ifUnavailable(undefined)))?.messages ?? [])
      this.#take(streamSeq, payload);
  }

  [Symbol.dispose](): void {
    this.#forget(this.#pieces.length);
    this.#live.unsubscribe();
  }
}
