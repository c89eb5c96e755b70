import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, logSubject, peekSeq, RepriseError, toRepriseError } from "@reprise/protocol";
import { flushConnection, watchConnection } from "./connection.ts";
import type { Framing } from "./frame-log.ts";
import type { LogReader } from "./log-reader.ts";
import { HUB_FAILURE } from "./hub-failure.ts";
import { overBudget } from "./hub-memory.ts";
import { subscribeLive } from "./live-feed.ts";
import { Repair } from "./repair.ts";
import { Tail } from "./tail.ts";

export interface HubOptions {
  /** Carries the live feed. */
  connection: NatsConnection;
  reader: LogReader;
  framing: Framing;
  /** Memory for events, over all generations. Default 256 MiB. */
  maxBytes?: number;
  /** How long a generation stays in memory after its last reader left. Default 60 s. */
  lingerMs?: number;
  /** After how long without an event a generation with readers is compared with its log. Default 1.5 s, growing to 10 s. */
  probeMs?: number;
  onError: (error: unknown) => void;
}

export interface HubStats {
  tails: number;
  bytes: number;
  repairs: number;
  probes: number;
}

/** A tail and what the hub knows about it. */
interface Entry {
  readonly tail: Tail;
  live: Subscription | undefined;
  readonly repair: Repair;
  probeAfterMs: number;
  idleSince: number;
}

const SWEEP_MS = 500;
const MAX_PROBE_MS = 10_000;

/**
 * The generations that this node serves: one core subscription to the live feed per generation, whatever the number of
 * readers, and one copy of its events.
 *
 * The live feed is a hint, the log is the truth. Opening: subscribe, flush, read the log, then take from the feed only what
 * follows without a hole. Repair, that is reading the log from the last known place, runs when a live event shows a gap, when
 * nothing has come for a while (the last event has no successor that would reveal its loss), and after a reconnect.
 */
export class Hub {
  readonly #options: Required<HubOptions>;
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<Entry>>();
  readonly #dirty = new Set<Tail>();
  readonly #sweeper: NodeJS.Timeout;
  #flushing = false;
  #closed = false;
  #repairs = 0;
  #probes = 0;

  constructor(options: HubOptions) {
    this.#options = { maxBytes: 256 * 1_024 * 1_024, lingerMs: 60_000, probeMs: 1_500, ...options };
    watchConnection(options.connection, { onUp: () => this.#repairAll() });
    this.#sweeper = setInterval(() => this.#sweep(Date.now()), Math.min(SWEEP_MS, this.#options.probeMs));
    this.#sweeper.unref();
  }

  /**
   * The generation's tail, caught up with the log. Several callers share one. It is kept for as long as somebody listens to
   * it, and `lingerMs` beyond; one that was dropped has a `failure` and gets no more events.
   * @throws RepriseError `generation_not_found`, `broker_unavailable`; `draining` when the hub was closed meanwhile
   */
  async open(ref: GenerationRef): Promise<Tail> {
    const key = logSubject(ref);
    const existing = this.#entries.get(key);
    if (existing) {
      existing.idleSince = Date.now();
      return existing.tail;
    }
    const opening = this.#opening.get(key) ?? this.#open(key, ref);
    return (await opening).tail;
  }

  /** Reads the log until the tail has what is stored now. What a replica that lags does not know yet may still be missing. */
  async refresh(tail: Tail): Promise<void> {
    tail.acceptStored(await this.#options.reader.readTail(tail.ref, tail.lastKnownStreamSeq));
    this.#changed(tail);
  }

  /**
   * Events that are no longer in memory, from `fromSeq` on: one small batch, read from the log.
   * @throws RepriseError `cursor_expired` when the log no longer keeps them, `broker_unavailable`
   */
  async readBehind(tail: Tail, fromSeq: number): Promise<Uint8Array[]> {
    const { reader } = this.#options;
    for (let after = tail.streamSeqBefore(fromSeq); ;) {
      const { events, more } = await reader.readBatch(tail.ref, after);
      const wanted = events.filter(({ payload }) => peekSeq(payload) >= fromSeq);
      if (wanted.length > 0 && peekSeq(wanted[0]!.payload) === fromSeq)
        return wanted.map(({ payload }) => payload);
      if (wanted.length > 0 || !more)
        throw new RepriseError("cursor_expired", "The events after this cursor are no longer kept.");
      after = events.at(-1)!.streamSeq;
    }
  }

  get stats(): HubStats {
    let bytes = 0;
    for (const { tail } of this.#entries.values()) bytes += tail.frames.bytes;
    return { tails: this.#entries.size, bytes, repairs: this.#repairs, probes: this.#probes };
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const key of this.#entries.keys()) this.#drop(key, HUB_FAILURE.draining);
  }

  #open(key: string, ref: GenerationRef): Promise<Entry> {
    const opening = this.#load(key, ref).finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  async #load(key: string, ref: GenerationRef): Promise<Entry> {
    const { connection, reader, framing } = this.#options;
    let entry: Entry | undefined;
    let missed = false;
    const live = subscribeLive(connection, ref, {
      onEvent: (payload, sequence) => {
        if (!entry) missed = true;
        else this.#receive(entry, payload, sequence);
      },
      onError: this.#options.onError,
    });
    try {
      await flushConnection(connection);
      const snapshot = await reader.readLog(ref);
      if (this.#closed) throw HUB_FAILURE.draining;
      if (snapshot.events.length === 0) {
        throw new RepriseError("generation_not_found", "There is no generation with this id.", {
          param: "id",
        });
      }
      const tail = new Tail(ref, framing, snapshot);
      const now = Date.now();
      tail.progressAt = now;
      entry = {
        tail,
        live,
        repair: new Repair({
          tail,
          refresh: () => this.refresh(tail),
          // Dropped meanwhile, the tail has its failure, and what the key names now is another one.
          giveUp: (failure) => this.#entries.get(key)?.tail === tail && this.#drop(key, failure),
        }),
        probeAfterMs: this.#options.probeMs,
        idleSince: now,
      };
      this.#entries.set(key, entry);
      this.#changed(tail);
      if (missed) this.#repair(entry);
      return entry;
    } catch (error) {
      live.unsubscribe();
      throw error;
    }
  }

  #receive(entry: Entry, payload: Uint8Array, sequence: () => number): void {
    const verdict = entry.tail.acceptLive(payload, sequence);
    if (verdict === "next") this.#changed(entry.tail);
    else if (verdict === "gap") this.#repair(entry);
  }

  /** Tells readers, once per tick, after everything that came with one socket read has been taken in. */
  #changed(tail: Tail): void {
    tail.progressAt = Date.now();
    this.#dirty.add(tail);
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    for (const tail of this.#dirty) {
      const entry = this.#entries.get(logSubject(tail.ref));
      if (entry?.tail === tail) {
        entry.probeAfterMs = this.#options.probeMs;
        if (tail.ended) this.#stopLive(entry);
      }
      tail.notify(this.#options.onError);
    }
    this.#dirty.clear();
  }

  #repair(entry: Entry): void {
    if (entry.repair.request()) this.#repairs++;
  }

  #repairAll(): void {
    for (const entry of this.#entries.values()) if (entry.live) this.#repair(entry);
  }

  #sweep(now: number): void {
    for (const [key, entry] of this.#entries) {
      const { tail } = entry;
      if (tail.readers > 0) {
        entry.idleSince = now;
        if (entry.live && now - tail.progressAt >= entry.probeAfterMs) void this.#probe(entry);
      } else if (now - entry.idleSince > this.#options.lingerMs) this.#drop(key);
    }
    this.#enforceBudget();
  }

  async #probe(entry: Entry): Promise<void> {
    const { tail } = entry;
    this.#probes++;
    tail.progressAt = Date.now();
    entry.probeAfterMs = Math.min(MAX_PROBE_MS, entry.probeAfterMs * 2);
    try {
      const last = await this.#options.reader.readLast(tail.ref);
      if (last && peekSeq(last.payload) > tail.lastSeq) this.#repair(entry);
    } catch (thrown) {
      // A broker that is away is no defect: the repair at its return does what the probe could not.
      if (!toRepriseError(thrown).retryable) this.#options.onError(thrown);
    }
  }

  #enforceBudget(): void {
    const tails = [...this.#entries].map(([key, { tail, idleSince }]) => ({ key, tail, idleSince }));
    for (const { key, tail, keepBytes } of overBudget(tails, this.#options.maxBytes)) {
      if (keepBytes === 0) this.#drop(key);
      else tail.frames.trim(keepBytes);
    }
  }

  #stopLive(entry: Entry): void {
    entry.live?.unsubscribe();
    entry.live = undefined;
  }

  /** Whoever still holds the tail learns that it gets no more events. */
  #drop(key: string, failure = HUB_FAILURE.dropped): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#stopLive(entry);
    this.#entries.delete(key);
    entry.tail.failure = failure;
    entry.tail.notify(this.#options.onError);
  }
}
