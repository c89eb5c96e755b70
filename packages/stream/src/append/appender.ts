import { backoffMs, pause } from "@reprise/async";
import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  isDelta,
  type KnownEvent,
  logSubject,
  RepriseError,
  toRepriseError,
  type UnknownEvent,
  type Seq,
  NO_SEQ,
  BEYOND_LOG,
} from "@reprise/protocol";
import {
  type AppenderInput,
  type AppenderPhase,
  isRunning,
  next,
  type RunningPhase,
} from "./appender-phases.ts";
import { isHead, type LogHead, readAfterHead, toHead } from "../read/log-head.ts";
import type { Chunking } from "./chunking.ts";
import { AppendQueue, isOutput } from "./pending-drafts.ts";
import { resolvePublish } from "./resolve-publish.ts";
import { findRemainingLog, type RemainingLog } from "./rollback.ts";
import { type Publish, type PublishOutcome, isUnavailable } from "@reprise/broker";
import type { LeaderReader } from "../read/leader-reader.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import { YieldPause } from "./yield-pause.ts";

/** State of an appender. */
export type AppenderState =
  /** Everything that was appended is stored. */
  | { kind: "open" }
  /** Another writer's event has ended this appender. */
  | { kind: "fenced"; by: KnownEvent | UnknownEvent }
  /**
   * The store has lost events that it had acknowledged, the head among them. `events` is the leader's whole log, and `head` its last event: the
   * lost events have to be appended after it, under a new attempt. Drafts that waited here are dropped.
   */
  | ({ kind: "rolled_back" } & RemainingLog)
  /** The log could not be written within the retry budget. What was not acknowledged may or may not be stored. */
  | { kind: "failed"; error: RepriseError };

export interface AppenderOptions {
  publish: Publish;
  leader: LeaderReader;
  ref: GenerationRef;
  head: LogHead;
  /** Unique to this appender, over all processes and times. */
  writer: string;
  /** Called for every event of this log that is stored from now on, in order, this appender's own and others'. */
  onStored?: (event: StoredEvent) => void;
  /** True if another writer's event ends this appender. */
  isFence: (event: KnownEvent | UnknownEvent) => boolean;
  /** Called once, when the appender is no longer open. */
  onEnd?: (state: AppenderState) => void;
  /** Called for each of its own events once it is stored, with how long its oldest part has waited for that since it was appended. */
  onStoredAfter?: ((ms: number) => void) | undefined;
  /** The time that deltas wait for further ones, once the attempt has stored one. Default: they are stored at once. */
  chunking?: Chunking | undefined;
  /** Milliseconds to keep trying while the broker does not answer. Default 30 s, because an election takes up to 10. */
  retryBudgetMs?: number;
}

/** A publish is given up after a time, and an election takes up to 10 s. */
const RETRY_BUDGET_MS = 30_000;
/** An election lasts seconds, a replica's lag milliseconds. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;

/**
 * The only way to write to a generation's log: a chain of compare-and-set publishes with one in flight. `appender-phases.ts` has the
 * table of its phases; here is what it does in each.
 *
 * A publish expects the last known stream sequence. `stored`: the head moves on. No responders, as during an election: publish again.
 * Anything else is ambiguous (a lost acknowledgement looks like a conflict once it is retried), so the appender reads the head and
 * what follows it from the stream's leader. Ours is there: as if acknowledged. Another writer's is there: move the head past it and
 * publish again with the next `seq`, or end if it is a fence. Nothing is there, or no leader: publish again, same expectation. A
 * publish that was given up may still arrive after that reading; then the second one conflicts, and is judged in turn.
 * The head itself is not there: the store was rolled back, and the appender ends.
 *
 * Under pressure the next publish waits until more deltas have joined it (`chunking.ts`).
 *
 * Another writer's rewind takes back what readers have not heard: output that is not stored yet is dropped.
 *
 * A writer that appends without a pause would win against every other process. So a process that has lost to it asks it to yield, and its
 * next publish waits until that process's event is seen, or the pause is over. The request decides nothing: the log does.
 */
export class Appender {
  readonly #options: Omit<AppenderOptions, "head">;
  readonly #subject: string;
  readonly #queue = new AppendQueue();
  #phase: AppenderPhase = "idle";
  #state: AppenderState = { kind: "open" };
  #head: LogHead;
  /** The draft that is being published, the number of earlier publishes, and the deadline for retries. */
  #draft: EventDraft | undefined;
  #publishes = 0;
  /** When the oldest of what waits, and of what is published now, was appended. */
  #waitsSinceMs = 0;
  #draftSinceMs = 0;
  #deadline = 0;
  /** The last publish that was not acknowledged. */
  #unstored: PublishOutcome | undefined;
  /** Number of reads from the leader since then, without an answer. */
  #reads = 0;
  #syncWanted = false;
  readonly #yieldPause = new YieldPause();
  /** True once a delta of the attempt is stored. */
  #hasShown = false;
  /** Ends the hold of the next draft. */
  #endHold: (() => void) | undefined;
  #observedSeq = NO_SEQ;
  /** The last event that the live feed has shown. */
  #shownSeq = NO_SEQ;
  #waiters: (() => void)[] = [];

  constructor({ head, ...options }: AppenderOptions) {
    this.#options = options;
    this.#subject = logSubject(options.ref);
    this.#head = head;
  }

  get head(): LogHead {
    return this.#head;
  }

  get state(): AppenderState {
    return this.#state;
  }

  /** Characters of text that are accepted but not yet stored, and the size of the log probabilities with them. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Accepts an event. The first goes out at once; those that come while it is in flight coalesce where they can. */
  append(draft: EventDraft): void {
    if (this.#state.kind !== "open") return;
    if (this.#queue.isEmpty) this.#waitsSinceMs = performance.now();
    this.#queue.push(draft);
    if (this.#endHold && this.#holdMs <= 0) this.#endHold();
    this.#work();
  }

  /**
   * Reports an event that was seen on the live feed. The appender reads the log if the event is not its own and no answer in flight will reveal
   * it. It also reads the log if the event is not later than the previous one: the feed repeats itself after an election, and restarts after a
   * rollback.
   */
  observe(seq: Seq): void {
    const isAgain = seq <= this.#shownSeq;
    this.#shownSeq = seq;
    this.#observedSeq = isAgain ? BEYOND_LOG : Math.max(this.#observedSeq, seq);
    // While a publish is in flight the event may be ours: its answer decides, and then `ready` looks again.
    if (!this.#isBehind) return;
    if (this.#phase === "idle") this.sync();
    else if (this.#phase === "holding") this.#endHold?.();
    else if (this.#phase === "yielding") this.#yieldPause.end();
  }

  /** Reads what others have stored, or the store has lost, as soon as nothing is in flight: one small request if neither. */
  sync(): void {
    if (this.#state.kind !== "open") return;
    this.#syncWanted = true;
    this.#work();
  }

  /**
   * Lets another process append: the next publish waits for its event, for 25 ms at most. Each request that was of no use doubles that, up to
   * a second. Between two pauses there is at least one publish.
   */
  yield(): void {
    this.#yieldPause.request();
  }

  /** Resolves when nothing is queued or in flight, or the appender has ended; the state says which. */
  async settled(): Promise<AppenderState> {
    if (isRunning(this.#phase))
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
        this.#endHold?.();
      });
    return this.#state;
  }

  get #isBehind(): boolean {
    return this.#observedSeq > this.#head.seq;
  }

  #work(): void {
    const before = this.#phase;
    this.#phase = next(before, "work");
    if (before === "idle") void this.#run();
  }

  async #run(): Promise<void> {
    while (isRunning(this.#phase)) {
      try {
        const doing = this.#do(this.#phase);
        this.#phase = next(this.#phase, typeof doing === "string" ? doing : await doing);
      } catch (thrown) {
        this.#phase = next(this.#phase, this.#end({ kind: "failed", error: toRepriseError(thrown) }));
      }
    }
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** Does what a phase is for. @returns what has come of it */
  #do(phase: RunningPhase): AppenderInput | Promise<AppenderInput> {
    switch (phase) {
      case "ready":
        return this.#choose();
      case "holding":
        return this.#hold();
      case "yielding":
        return this.#yieldPause.wait();
      case "publishing":
        return this.#publish();
      case "conflicted":
      case "unacknowledged":
        return this.#findPublished();
      case "backing_off":
        return this.#backOff();
      case "rereading":
        return pauseAfter(this.#reads++);
      case "catching_up":
        return this.#catchUp();
    }
  }

  /** A read that was only asked for can wait: a publish finds out by itself if others have stored anything. */
  #choose(): AppenderInput {
    if (this.#isBehind) return "read";
    if (this.#holdMs > 0) return "hold";
    this.#draft = this.#queue.shift();
    if (!this.#draft) return this.#syncWanted ? "read" : "nothing";
    this.#draftSinceMs = this.#waitsSinceMs;
    this.#publishes = 0;
    this.#deadline = performance.now() + (this.#options.retryBudgetMs ?? RETRY_BUDGET_MS);
    return this.#yieldPause.isRequested ? "yield" : "draft";
  }

  /** Milliseconds for which the next draft still waits for further deltas; at most 0 if it goes out now. */
  get #holdMs(): number {
    const { chunking } = this.#options;
    if (!chunking || !this.#hasShown || this.#waiters.length > 0) return 0;
    const tokens = this.#queue.openTokens;
    if (tokens === 0 || tokens >= chunking.maxTokens || chunking.holdMs === 0) return 0;
    return this.#waitsSinceMs + chunking.holdMs - performance.now();
  }

  #hold(): Promise<AppenderInput> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#endHold = undefined;
        resolve("waited");
      };
      const timer = setTimeout(end, Math.max(1, this.#holdMs));
      this.#endHold = end;
    });
  }

  async #publish(): Promise<AppenderInput> {
    const { publish, writer, chunking } = this.#options;
    if (!this.#draft) return "dropped";
    const payload = encodeEvent((this.#head.seq + 1) as Seq, this.#draft);
    const beganMs = performance.now();
    const outcome = await publish(this.#subject, payload, { expectedLast: this.#head.streamSeq, writer });
    if (outcome.kind === "stored") {
      chunking?.stored(performance.now() - beganMs);
      this.#acceptOwn({ payload, streamSeq: outcome.streamSeq, writer });
      return "stored";
    }
    this.#unstored = outcome;
    this.#reads = 0;
    if (outcome.kind === "conflict") return "conflict";
    if (outcome.reason !== "no_responders") return "unacknowledged";
    // The message has reached no server that could store it. An earlier publish of the same event may have.
    this.#checkBudget();
    return "unheard";
  }

  /** Finds out whether the event that was published is stored. */
  async #findPublished(): Promise<AppenderInput> {
    try {
      const tail = await this.#readTail();
      if (!tail) return "ended";
      const judgement = resolvePublish(tail, {
        writer: this.#options.writer,
        seq: (this.#head.seq + 1) as Seq,
      });
      if (judgement.kind === "landed") this.#acceptOwn(judgement.event);
      if (this.#isFencedBy(judgement.others)) return "ended";
      if (tail.length === 0) this.#checkBudget();
      return judgement.kind;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#checkBudget();
      return "no_leader";
    }
  }

  /** After the first conflict there is nothing to wait for: the event after the head is known. */
  #backOff(): AppenderInput | Promise<AppenderInput> {
    const publishes = this.#publishes++;
    return publishes === 0 && this.#unstored?.kind === "conflict" ? "waited" : pauseAfter(publishes);
  }

  async #catchUp(): Promise<AppenderInput> {
    const { leader, ref } = this.#options;
    this.#syncWanted = false;
    this.#observedSeq = NO_SEQ;
    try {
      if (isHead(await leader.readLast(ref), this.#head)) return "caught_up";
      const tail = await this.#readTail();
      return !tail || this.#isFencedBy(tail) ? "ended" : "caught_up";
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      // It is not repeated here: the worker syncs at every heartbeat.
      return "caught_up";
    }
  }

  /** Reads the leader's events after the head. If the head itself is missing, and still missing a moment later, the appender has ended. */
  async #readTail(): Promise<readonly StoredEvent[] | undefined> {
    const { leader, ref } = this.#options;
    const tail = await readAfterHead(leader, ref, this.#head);
    if (tail) return tail;
    const remains = await findRemainingLog(leader, ref, this.#head);
    if (!remains) return leader.readTail(ref, this.#head.streamSeq);
    this.#end({ kind: "rolled_back", ...remains });
    return undefined;
  }

  #acceptOwn(event: StoredEvent): void {
    if (this.#draft && isDelta(this.#draft)) this.#hasShown = true;
    else if (this.#draft?.type === "generation.started") this.#hasShown = false;
    this.#options.onStoredAfter?.(performance.now() - this.#draftSinceMs);
    this.#accept(event);
  }

  #accept(event: StoredEvent): void {
    this.#head = toHead(event);
    this.#options.onStored?.(event);
  }

  /** Accepts other writers' events, up to one that ends this appender. */
  #isFencedBy(events: readonly StoredEvent[]): boolean {
    for (const stored of events) {
      this.#accept(stored);
      this.#yieldPause.reset();
      const by = decodeEvent(stored.payload);
      if (by.type === "output.rewind") this.#dropOutput();
      if (!this.#options.isFence(by)) continue;
      this.#end({ kind: "fenced", by });
      return true;
    }
    return false;
  }

  #dropOutput(): void {
    this.#queue.dropOutput();
    if (this.#draft && isOutput(this.#draft)) this.#draft = undefined;
  }

  /** @throws RepriseError `broker_unavailable` when the draft has been retried for long enough */
  #checkBudget(): void {
    if (performance.now() < this.#deadline) return;
    const outcome = this.#unstored;
    const why =
      outcome?.kind === "unavailable" ? `${outcome.reason} ${outcome.detail ?? ""}`.trim() : outcome?.kind;
    throw new RepriseError(
      "broker_unavailable",
      `The log could not be written within the retry budget: ${why}.`,
    );
  }

  #end(state: AppenderState): "ended" {
    this.#state = state;
    this.#queue.clear();
    this.#options.onEnd?.(state);
    return "ended";
  }
}

async function pauseAfter(tries: number): Promise<"waited"> {
  await pause(backoffMs(tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
  return "waited";
}
