import {
  type GenerationRef,
  logSubject,
  peekSeq,
  RepriseError,
  toRepriseError,
  type Seq,
  type StreamSeq,
  NO_SEQ,
  plus,
  toUnixMs,
  unixNow,
} from "@reprise/protocol";
import { ifUnavailable, storedAtOf, watchConnection } from "@reprise/broker";
import type { Msg, Subscription } from "@nats-io/transport-node";
import { Semaphore } from "@reprise/async";
import { HUB_FAILURE } from "./cache/hub-failure.ts";
import { planEviction } from "./memory-budget.ts";
import { HUB_DEFAULTS, type HubOptions, type HubStats } from "./hub-options.ts";
import { dueForProbe, ProbeSchedule } from "./probe-schedule.ts";
import { type NewLog, openGenerationCache } from "./open-generation-cache.ts";
import { readHistory } from "./read-history.ts";
import { Repair, verifyCache } from "./repair.ts";
import { TtlCheck } from "./ttl-check.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";
import { VerdictWatch } from "./verdict-watch.ts";

/** The log decides: it is read to see whether it holds the same event. */
const MALFORMED_LIVE = new RepriseError(
  "protocol_violation",
  "The live feed has delivered a malformed event.",
);
const SWEEP_MS = 500;
/** Grace period in which a new cache counts as read. */
const OPENED_MS = 1_000;
/** A moderated cache is not opened for a further reader without having asked the log for withdrawals as recently as that. */
const CHECKED_MS = 1_000;
/** Logs that are read at once; each is in memory as a whole until it has become a cache. */
const LOADS = 16;
/** Maximum wait for a turn: with a broker that does not answer, each turn takes its whole time to fail. */
const MAX_TURN_MS = 10_000;
/** The byte budget is enforced as soon as loads have added this part of it, without waiting for the next sweep. */
const UNCHECKED_PART = 1 / 16;

/** A cache and what the hub knows about it. */
interface ServedGeneration {
  readonly cache: GenerationCache;
  live: Subscription | undefined;
  readonly repair: Repair;
  readonly pace: ProbeSchedule;
  /** For caches whose readers may have to wait for moderation. */
  readonly verdicts: VerdictWatch | undefined;
  idleSince: number;
  /** Since when readers have had all there is to the end. */
  endedSince?: number;
  /** Asks the log for all it has. */
  readonly check: TtlCheck;
}

/** A cache that is being opened. */
interface OpeningTail {
  readonly entry: Promise<ServedGeneration>;
  /** The newest event that its log is known to have; `NO_SEQ` while nothing is known of it. */
  expectedSeq: Seq;
}

/**
 * The generations that this node serves: one core subscription to the live feed and one copy of the events per generation, shared by all its
 * readers.
 *
 * The live feed is a hint, the log is the truth. Opening: subscribe, flush, read the log, then take from the feed only the events that follow
 * without a gap. Repair means reading the log from the last known place. It runs when a live event shows a gap, when no event has come for a while
 * (the last event has no successor that would reveal its loss), and after a reconnect. The frequency of comparing silent generations with their
 * logs depends on their own pace and on a budget of the node: see `ProbeSchedule`.
 *
 * The log can be wrong too: a store may lose its end and continue with other events. So after a lost connection, and whenever the feed or the log
 * shows another event than the cache has, a cache takes no more events until its last event has been seen in the log again. If the leader does not
 * have it, the cache's readers are disconnected with `events_lost`.
 *
 * If readers may have to wait for moderation, the hub also follows its verdicts, and continues following the log after its end: text may be
 * withdrawn later, and readers that come after that never get it.
 */
export class Hub {
  readonly #options: Required<HubOptions>;
  readonly #entries = new Map<string, ServedGeneration>();
  readonly #opening = new Map<string, OpeningTail>();
  /** Readers are told once per tick, after everything that came with one socket read has been taken in. */
  readonly #changes = new Coalescer<GenerationCache>((cache) => this.#wakeReaders(cache));
  readonly #loads = new Semaphore(LOADS);
  readonly #sweeper: NodeJS.Timeout;
  readonly #sweepMs: number;
  #loadedBytes = 0;
  #closed = false;
  #repairs = 0;
  #probes = 0;

  constructor(options: HubOptions) {
    this.#options = { ...HUB_DEFAULTS, ...options };
    watchConnection(options.connection, { onDown: () => this.#doubtAll(), onUp: () => this.#repairAll() });
    this.#sweepMs = Math.min(SWEEP_MS, this.#options.probeMs);
    this.#sweeper = setInterval(() => this.#sweep(performance.now()), this.#sweepMs);
    this.#sweeper.unref();
  }

  /**
   * The generation's cache, caught up with the log. Several callers share one. It is kept for as long as it has
   * readers, and `lingerMs` beyond; one that was dropped has a `failure` and gets no more events.
   * @throws RepriseError `generation_not_found`, `generation_expired`, `policy_unsupported`, `broker_unavailable`; `draining` when the hub
   *   was closed
   *   meanwhile, `generation_erased` when it was erased, then or before
   */
  async open(ref: GenerationRef, begun?: NewLog): Promise<GenerationCache> {
    const key = logSubject(ref);
    const existing = this.#entries.get(key);
    if (existing && this.#isOutdated(existing)) this.#forget(key, existing);
    else if (existing) {
      existing.idleSince = performance.now();
      // An interrupt may follow the end, after which this node follows the log no longer.
      if (existing.verdicts) await existing.check.ensure();
      else if (existing.cache.ended) await existing.check.ensure().catch(ifUnavailable(undefined));
      return existing.cache;
    }
    let opening = this.#opening.get(key);
    if (!opening) {
      const latest = performance.now() + MAX_TURN_MS;
      const load = () => this.#load(ref, latest, begun);
      const entry = this.#loads.run(load).finally(() => this.#opening.delete(key));
      opening = { entry, expectedSeq: NO_SEQ };
      this.#opening.set(key, opening);
    }
    return (await opening.entry).cache;
  }

  /**
   * The hub does not follow a log that has ended, so it would not notice that the log's end is lost, or that the log has expired. Readers
   * of the old cache have all they need.
   */
  #isOutdated({ cache, endedSince = Infinity }: ServedGeneration): boolean {
    return cache.ended && (cache.events.isDoubted || performance.now() - endedSince > this.#options.lingerMs);
  }

  /** Readers of a moderated cache would not learn of late withdrawals any more: they come back. */
  #forget(key: string, { verdicts }: ServedGeneration): void {
    if (verdicts) this.#drop(key);
    else this.#entries.delete(key);
  }

  /** Reads the log until the cache has what is stored now. What a replica that lags does not know yet may still be missing. */
  async refresh(cache: GenerationCache): Promise<void> {
    const events = await this.#options.reader.readTail(
      cache.ref,
      (cache.events.lastKnownStreamSeq - 1) as StreamSeq,
    );
    // An event that is known comes first again, unless the log has become another one.
    if (events[0] && events[0].streamSeq !== cache.events.lastKnownStreamSeq) cache.events.doubt();
    cache.events.acceptStored(events);
    this.#changes.add(cache);
  }

  /**
   * Reads from the log's leader what the cache lacks: a request for each event, but then every event that was shown anywhere
   * is in the cache.
   * @throws RepriseError `broker_unavailable`
   */
  async refreshFromLeader(cache: GenerationCache): Promise<void> {
    cache.events.acceptStored(
      await this.#options.leader.readTail(cache.ref, (cache.events.lastKnownStreamSeq - 1) as StreamSeq),
    );
    this.#changes.add(cache);
  }

  /**
   * Events that are no longer in memory, from `fromSeq` on: one small batch, read from the log.
   * @throws RepriseError `cursor_expired` when the log no longer keeps them, `broker_unavailable`
   */
  readHistory(cache: GenerationCache, fromSeq: Seq): Promise<Uint8Array[]> {
    return readHistory(this.#options, cache, fromSeq);
  }

  /** Forgets an erased generation at once, and breaks its readers off with `generation_erased`. */
  erase(ref: GenerationRef): void {
    const key = logSubject(ref);
    // What is being read for it is not kept.
    this.#opening.delete(key);
    this.#entries.get(key)?.cache.erase(HUB_FAILURE.erased);
    this.#drop(key, HUB_FAILURE.erased);
  }

  /** Reads further in a log that this node may not follow any more, because it has ended: the log continues up to an event. */
  expect(ref: GenerationRef, seq: Seq): void {
    const key = logSubject(ref);
    const opening = this.#opening.get(key);
    // The replica that its log is read from may lag.
    if (opening) opening.expectedSeq = Math.max(opening.expectedSeq, seq);
    const entry = this.#entries.get(key);
    if (entry) this.#expect(entry, seq);
  }

  #expect(entry: ServedGeneration, seq: Seq): void {
    entry.cache.events.expect(seq);
    if (entry.cache.events.hasGap) this.#repair(entry);
  }

  /** Caches of generations that have not ended. */
  get openCaches(): GenerationCache[] {
    return [...this.#entries.values()].flatMap(({ cache }) => (cache.ended ? [] : [cache]));
  }

  get stats(): HubStats {
    let bytes = 0;
    for (const { cache } of this.#entries.values()) bytes += cache.bytes;
    return { caches: this.#entries.size, bytes, repairs: this.#repairs, probes: this.#probes };
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const key of this.#entries.keys()) this.#drop(key, HUB_FAILURE.draining);
  }

  async #load(ref: GenerationRef, latest: number, begun: NewLog | undefined): Promise<ServedGeneration> {
    const key = logSubject(ref);
    if (this.#closed) throw HUB_FAILURE.draining;
    if (performance.now() > latest) throw HUB_FAILURE.busy;
    const { cache, live, follow } = await openGenerationCache(this.#options, ref, begun).catch(
      (error: unknown) => {
        if (error === HUB_FAILURE.malformed) this.#options.onError(error);
        throw error;
      },
    );
    const verdicts = await this.#watchVerdicts(cache).catch((error: unknown) => {
      live.unsubscribe();
      throw error;
    });
    const opening = this.#opening.get(key);
    if (this.#closed || !opening) {
      live.unsubscribe();
      verdicts?.stop();
      throw this.#closed ? HUB_FAILURE.draining : HUB_FAILURE.erased;
    }
    const now = performance.now();
    const repair = new Repair({
      cache,
      onError: this.#options.onError,
      refresh: () => this.refresh(cache),
      verify: async () => {
        const failure = await verifyCache(this.#options.leader, cache);
        this.#changes.add(cache);
        return failure;
      },
      giveUp: (failure) => {
        if (failure.code === "protocol_violation") this.#options.onError(failure);
        cache.failure ??= failure;
        // What the key names now may be another one.
        if (this.#entries.get(key)?.cache === cache) this.#drop(key, failure);
      },
    });
    const pace = new ProbeSchedule(this.#options.probeMs, cache.lastSeq, now);
    const check = new TtlCheck(() => this.refresh(cache), CHECKED_MS);
    const entry: ServedGeneration = { cache, live, repair, pace, verdicts, check, idleSince: now };
    this.#entries.set(key, entry);
    this.#changes.add(cache);
    if (follow((payload, sequence, msg) => this.#receive(entry, payload, sequence, msg))) this.#repair(entry);
    this.#expect(entry, opening.expectedSeq);
    this.#loaded(cache);
    return entry;
  }

  async #watchVerdicts(cache: GenerationCache): Promise<VerdictWatch | undefined> {
    if (!cache.shown.visibility) return undefined;
    return VerdictWatch.open({ ...this.#options, onShown: () => this.#changes.add(cache) }, cache);
  }

  #loaded({ shown }: GenerationCache): void {
    this.#loadedBytes += shown.frames.bytes;
    if (this.#loadedBytes > this.#options.maxBytes * UNCHECKED_PART) this.#enforceBudget(performance.now());
  }

  #receive(entry: ServedGeneration, payload: Uint8Array, sequence: () => StreamSeq, msg: Msg): void {
    const { cache } = entry;
    const next = plus(cache.lastSeq, 1);
    const judgement = cache.events.acceptLive(payload, sequence);
    if (judgement === "next") {
      if (cache.figures.firstOutputSeq === next)
        cache.figures.firstOutput = {
          underwayMs: Math.max(0, unixNow() - toUnixMs(storedAtOf(msg))),
          receivedAtMs: performance.now(),
          shownAtMs: undefined,
        };
      if (cache.figures.sample.isDue(next)) cache.figures.sample.take(next, toUnixMs(storedAtOf(msg)));
      this.#changes.add(cache);
    }
    if (judgement === "gap") this.#repair(entry);
    else if (judgement === "malformed") {
      this.#options.onError(MALFORMED_LIVE);
      this.#repair(entry);
    } else if (judgement === "differs") this.#doubt(entry);
  }

  #wakeReaders(cache: GenerationCache): void {
    const entry = this.#entries.get(logSubject(cache.ref));
    if (entry?.cache === cache) {
      entry.pace.observe(cache.lastSeq, performance.now());
      if (cache.isSettled) this.#over(entry);
    }
    cache.notify(this.#options.onError);
  }

  #repair(entry: ServedGeneration): void {
    if (entry.repair.request()) this.#repairs++;
  }

  /** The log may have become another one. */
  #doubt(entry: ServedGeneration): void {
    entry.cache.events.doubt();
    this.#repair(entry);
  }

  #doubtAll(): void {
    for (const { cache } of this.#entries.values()) cache.events.doubt();
  }

  #repairAll(): void {
    for (const entry of this.#entries.values()) if (entry.live) this.#repair(entry);
  }

  #sweep(now: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.cache.readers > 0) entry.idleSince = now;
      else if (now - entry.idleSince > this.#options.lingerMs) this.#drop(key);
    }
    for (const { verdicts } of this.#entries.values()) verdicts?.sweep(now, this.#sweepMs);
    const followed = [...this.#entries.values()].filter(({ cache, live }) => live && cache.readers > 0);
    for (const entry of dueForProbe(followed, now, this.#sweepMs)) void this.#probe(entry, now);
    this.#enforceBudget(now);
  }

  async #probe(entry: ServedGeneration, now: number): Promise<void> {
    const { cache, pace } = entry;
    this.#probes++;
    pace.probed(now);
    try {
      const last = await this.#options.reader.readLast(cache.ref);
      const seq = last ? peekSeq(last.payload) : NO_SEQ;
      if (seq > cache.lastSeq) this.#repair(entry);
      // Without a last event `seq` is NO_SEQ, which is less than any seq: the side before has held.
      else if (seq < cache.lastSeq || !cache.events.isKnown(last!.payload)) this.#doubt(entry);
    } catch (thrown) {
      // A broker that is away is no defect: the repair at its return does what the probe could not.
      if (!toRepriseError(thrown).retryable) this.#options.onError(thrown);
    }
  }

  #enforceBudget(now: number): void {
    this.#loadedBytes = 0;
    const tails = [...this.#entries].map(([key, { cache, idleSince }]) => {
      return { key, cache, idleSince, inUse: cache.readers > 0 || now - idleSince < OPENED_MS };
    });
    for (const { key, cache, keepBytes } of planEviction(tails, this.#options.maxBytes)) {
      if (keepBytes === 0) this.#drop(key);
      else cache.trim(keepBytes);
    }
  }

  #over(entry: ServedGeneration): void {
    entry.endedSince ??= performance.now();
    if (!entry.verdicts) this.#stopLive(entry);
  }

  #stopLive(entry: ServedGeneration): void {
    entry.live?.unsubscribe();
    entry.live = undefined;
  }

  /** The cache's remaining readers learn that it gets no more events. */
  #drop(key: string, failure = HUB_FAILURE.dropped): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#stopLive(entry);
    entry.verdicts?.stop();
    this.#entries.delete(key);
    entry.cache.failure = failure;
    entry.cache.notify(this.#options.onError);
  }
}

/** Does something for each of the items that were added, once however often they were, when the current tick is over. */
class Coalescer<T> {
  readonly #act: (item: T) => void;
  readonly #items = new Set<T>();
  #isDue = false;

  /** @param act must not throw */
  constructor(act: (item: T) => void) {
    this.#act = act;
  }

  add(item: T): void {
    this.#items.add(item);
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isDue = false;
    for (const item of this.#items) this.#act(item);
    this.#items.clear();
  }
}
