import { type GenerationRef, logSubject, peekSeq, RepriseError, toRepriseError } from "@reprise/protocol";
import { watchConnection } from "./connection.ts";
import { Gate } from "./gate.ts";
import type { HubEntry, OpeningTail } from "./hub-entry.ts";
import { HUB_FAILURE } from "./hub-failure.ts";
import { overBudget } from "./hub-memory.ts";
import { HUB_DEFAULTS, type HubOptions, type HubStats } from "./hub-options.ts";
import { dueForProbe, ProbePace } from "./idle-probe.ts";
import { type Begun, openTail } from "./open-tail.ts";
import { OncePerTick } from "./once-per-tick.ts";
import { readBehind } from "./read-behind.ts";
import { Repair } from "./repair.ts";
import { RecentCheck } from "./recent-check.ts";
import type { Tail } from "./tail.ts";
import { VerdictWatch } from "./verdict-watch.ts";
import { verifyTail } from "./verify-tail.ts";

/** The log has the last word: it is read to see whether it holds the same. */
const MALFORMED_LIVE = new RepriseError("protocol_violation", "The live feed has shown what is no event.");
const SWEEP_MS = 500;
/** Whoever has just opened a tail is about to listen to it: for so long it counts as read. */
const OPENED_MS = 1_000;
/** A moderated tail is not opened for a further reader without having asked the log for withdrawals as recently as that. */
const CHECKED_MS = 1_000;
/** Logs that are read at once; each is in memory as a whole until it has become a tail. */
const LOADS = 16;
/** How long to wait for one's turn: with a broker that is mute, each of them takes its whole time to fail. */
const MAX_TURN_MS = 10_000;
/** The byte budget is enforced as soon as loads have added this part of it, without waiting for the next sweep. */
const UNCHECKED_PART = 1 / 16;

/**
 * The generations that this node serves: one core subscription to the live feed per generation, whatever the number of
 * readers, and one copy of its events.
 *
 * The live feed is a hint, the log is the truth. Opening: subscribe, flush, read the log, then take from the feed only what
 * follows without a hole. Repair, that is reading the log from the last known place, runs when a live event shows a gap, when
 * nothing has come for a while (the last event has no successor that would reveal its loss), and after a reconnect. How often
 * silent generations are compared with their logs follows their own pace and a budget of the node: see `ProbePace`.
 *
 * Nor is the log beyond doubt: a store may lose its end and go on with other events. So after a lost connection, and whenever the
 * feed or the log shows another event than the tail has, a tail takes nothing more until its last event has been seen in the log
 * again; if the leader does not have it, the tail's readers are broken off with `events_lost`.
 *
 * Where readers may have to wait for moderation the hub also follows what that says, and goes on following the log behind its end:
 * text may be withdrawn later, and whoever comes after that never gets it.
 */
export class Hub {
  readonly #options: Required<HubOptions>;
  readonly #entries = new Map<string, HubEntry>();
  readonly #opening = new Map<string, OpeningTail>();
  /** Readers are told once per tick, after everything that came with one socket read has been taken in. */
  readonly #changes = new OncePerTick<Tail>((tail) => this.#tell(tail));
  readonly #loads = new Gate(LOADS);
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
    this.#sweeper = setInterval(() => this.#sweep(Date.now()), this.#sweepMs);
    this.#sweeper.unref();
  }

  /**
   * The generation's tail, caught up with the log. Several callers share one. It is kept for as long as somebody listens to
   * it, and `lingerMs` beyond; one that was dropped has a `failure` and gets no more events.
   * @throws RepriseError `generation_not_found`, `generation_expired`, `broker_unavailable`; `draining` when the hub was closed
   *   meanwhile, `generation_erased` when it was erased, then or before
   */
  async open(ref: GenerationRef, begun?: Begun): Promise<Tail> {
    const key = logSubject(ref);
    const existing = this.#entries.get(key);
    if (existing && this.#isOutdated(existing)) this.#forget(key, existing);
    else if (existing) {
      existing.idleSince = Date.now();
      if (existing.verdicts) await existing.check.ensure();
      return existing.tail;
    }
    let opening = this.#opening.get(key);
    if (!opening) {
      const latest = Date.now() + MAX_TURN_MS;
      const load = () => this.#load(ref, latest, begun);
      const entry = this.#loads.run(load).finally(() => this.#opening.delete(key));
      opening = { entry, expectedSeq: -1 };
      this.#opening.set(key, opening);
    }
    return (await opening.entry).tail;
  }

  /**
   * Nobody follows a log that has ended, so nobody would find out that its end is lost, or that it has expired. Its readers have all
   * they need.
   */
  #isOutdated({ tail, endedSince = Infinity }: HubEntry): boolean {
    return tail.ended && (tail.isDoubted || Date.now() - endedSince > this.#options.lingerMs);
  }

  /** Readers of a moderated tail would not learn of late withdrawals any more: they come back. */
  #forget(key: string, { verdicts }: HubEntry): void {
    if (verdicts) this.#drop(key);
    else this.#entries.delete(key);
  }

  /** Reads the log until the tail has what is stored now. What a replica that lags does not know yet may still be missing. */
  async refresh(tail: Tail): Promise<void> {
    const events = await this.#options.reader.readTail(tail.ref, tail.lastKnownStreamSeq - 1);
    // An event that is known comes first again, unless the log has become another one.
    if (events[0] && events[0].streamSeq !== tail.lastKnownStreamSeq) tail.doubt();
    tail.acceptStored(events);
    this.#changes.add(tail);
  }

  /**
   * Reads from the log's leader what the tail lacks: a request for each event, but then every event that was shown anywhere
   * is in the tail.
   * @throws RepriseError `broker_unavailable`
   */
  async refreshFromLeader(tail: Tail): Promise<void> {
    tail.acceptStored(await this.#options.leader.readTail(tail.ref, tail.lastKnownStreamSeq - 1));
    this.#changes.add(tail);
  }

  /**
   * Events that are no longer in memory, from `fromSeq` on: one small batch, read from the log.
   * @throws RepriseError `cursor_expired` when the log no longer keeps them, `broker_unavailable`
   */
  readBehind(tail: Tail, fromSeq: number): Promise<Uint8Array[]> {
    return readBehind(this.#options, tail, fromSeq);
  }

  /** Forgets an erased generation at once, and breaks its readers off with `generation_erased`. */
  erase(ref: GenerationRef): void {
    const key = logSubject(ref);
    // What is being read for it is not kept.
    this.#opening.delete(key);
    this.#entries.get(key)?.tail.erase(HUB_FAILURE.erased);
    this.#drop(key, HUB_FAILURE.erased);
  }

  /** Reads on in a log that this node may not follow any more, because it has ended: it goes on up to an event. */
  expect(ref: GenerationRef, seq: number): void {
    const key = logSubject(ref);
    const opening = this.#opening.get(key);
    // The replica that its log is read from may lag.
    if (opening) opening.expectedSeq = Math.max(opening.expectedSeq, seq);
    const entry = this.#entries.get(key);
    if (entry) this.#expect(entry, seq);
  }

  #expect(entry: HubEntry, seq: number): void {
    entry.tail.expect(seq);
    if (entry.tail.hasGap) this.#repair(entry);
  }

  /** Of generations that have not ended. */
  get openTails(): Tail[] {
    return [...this.#entries.values()].flatMap(({ tail }) => (tail.ended ? [] : [tail]));
  }

  get stats(): HubStats {
    let bytes = 0;
    for (const { tail } of this.#entries.values()) bytes += tail.bytes;
    return { tails: this.#entries.size, bytes, repairs: this.#repairs, probes: this.#probes };
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const key of this.#entries.keys()) this.#drop(key, HUB_FAILURE.draining);
  }

  async #load(ref: GenerationRef, latest: number, begun: Begun | undefined): Promise<HubEntry> {
    const key = logSubject(ref);
    if (this.#closed) throw HUB_FAILURE.draining;
    if (Date.now() > latest) throw HUB_FAILURE.busy;
    const { tail, live, follow } = await openTail(this.#options, ref, begun).catch((error: unknown) => {
      if (error === HUB_FAILURE.malformed) this.#options.onError(error);
      throw error;
    });
    const verdicts = await this.#watchVerdicts(tail).catch((error: unknown) => {
      live.unsubscribe();
      throw error;
    });
    const opening = this.#opening.get(key);
    if (this.#closed || !opening) {
      live.unsubscribe();
      verdicts?.stop();
      throw this.#closed ? HUB_FAILURE.draining : HUB_FAILURE.erased;
    }
    const now = Date.now();
    const repair = new Repair({
      tail,
      onError: this.#options.onError,
      refresh: () => this.refresh(tail),
      verify: async () => {
        const failure = await verifyTail(this.#options.leader, tail);
        this.#changes.add(tail);
        return failure;
      },
      giveUp: (failure) => {
        if (failure.code === "protocol_violation") this.#options.onError(failure);
        tail.failure ??= failure;
        // What the key names now may be another one.
        if (this.#entries.get(key)?.tail === tail) this.#drop(key, failure);
      },
    });
    const pace = new ProbePace(this.#options.probeMs, tail.lastSeq, now);
    const check = new RecentCheck(() => this.refresh(tail), CHECKED_MS);
    const entry: HubEntry = { tail, live, repair, pace, verdicts, check, idleSince: now };
    this.#entries.set(key, entry);
    this.#changes.add(tail);
    if (follow((payload, sequence) => this.#receive(entry, payload, sequence))) this.#repair(entry);
    this.#expect(entry, opening.expectedSeq);
    this.#loaded(tail);
    return entry;
  }

  async #watchVerdicts(tail: Tail): Promise<VerdictWatch | undefined> {
    if (!tail.visibility) return undefined;
    return VerdictWatch.open({ ...this.#options, onShown: () => this.#changes.add(tail) }, tail);
  }

  #loaded({ frames }: Tail): void {
    this.#loadedBytes += frames.bytes;
    if (this.#loadedBytes > this.#options.maxBytes * UNCHECKED_PART) this.#enforceBudget(Date.now());
  }

  #receive(entry: HubEntry, payload: Uint8Array, sequence: () => number): void {
    const judgement = entry.tail.acceptLive(payload, sequence);
    if (judgement === "next") this.#changes.add(entry.tail);
    else if (judgement === "gap") this.#repair(entry);
    else if (judgement === "malformed") {
      this.#options.onError(MALFORMED_LIVE);
      this.#repair(entry);
    } else if (judgement === "differs") this.#suspect(entry);
  }

  #tell(tail: Tail): void {
    const entry = this.#entries.get(logSubject(tail.ref));
    if (entry?.tail === tail) {
      entry.pace.observe(tail.lastSeq, Date.now());
      if (tail.isOver) this.#over(entry);
    }
    tail.notify(this.#options.onError);
  }

  #repair(entry: HubEntry): void {
    if (entry.repair.request()) this.#repairs++;
  }

  /** The log may have become another one. */
  #suspect(entry: HubEntry): void {
    entry.tail.doubt();
    this.#repair(entry);
  }

  #doubtAll(): void {
    for (const { tail } of this.#entries.values()) tail.doubt();
  }

  #repairAll(): void {
    for (const entry of this.#entries.values()) if (entry.live) this.#repair(entry);
  }

  #sweep(now: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.tail.readers > 0) entry.idleSince = now;
      else if (now - entry.idleSince > this.#options.lingerMs) this.#drop(key);
    }
    for (const { verdicts } of this.#entries.values()) verdicts?.sweep(now, this.#sweepMs);
    const followed = [...this.#entries.values()].filter(({ tail, live }) => live && tail.readers > 0);
    for (const entry of dueForProbe(followed, now, this.#sweepMs)) void this.#probe(entry, now);
    this.#enforceBudget(now);
  }

  async #probe(entry: HubEntry, now: number): Promise<void> {
    const { tail, pace } = entry;
    this.#probes++;
    pace.probed(now);
    try {
      const last = await this.#options.reader.readLast(tail.ref);
      const seq = last ? peekSeq(last.payload) : -1;
      if (seq > tail.lastSeq) this.#repair(entry);
      else if (seq < tail.lastSeq || !tail.isKnown(last!.payload)) this.#suspect(entry);
    } catch (thrown) {
      // A broker that is away is no defect: the repair at its return does what the probe could not.
      if (!toRepriseError(thrown).retryable) this.#options.onError(thrown);
    }
  }

  #enforceBudget(now: number): void {
    this.#loadedBytes = 0;
    const tails = [...this.#entries].map(([key, { tail, idleSince }]) => {
      return { key, tail, idleSince, inUse: tail.readers > 0 || now - idleSince < OPENED_MS };
    });
    for (const { key, tail, keepBytes } of overBudget(tails, this.#options.maxBytes)) {
      if (keepBytes === 0) this.#drop(key);
      else tail.trim(keepBytes);
    }
  }

  #over(entry: HubEntry): void {
    entry.endedSince ??= Date.now();
    if (!entry.verdicts) this.#stopLive(entry);
  }

  #stopLive(entry: HubEntry): void {
    entry.live?.unsubscribe();
    entry.live = undefined;
  }

  /** Whoever still holds the tail learns that it gets no more events. */
  #drop(key: string, failure = HUB_FAILURE.dropped): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#stopLive(entry);
    entry.verdicts?.stop();
    this.#entries.delete(key);
    entry.tail.failure = failure;
    entry.tail.notify(this.#options.onError);
  }
}
