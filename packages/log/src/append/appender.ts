import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  type KnownEvent,
  logSubject,
  RepriseError,
  toRepriseError,
  type UnknownEvent,
} from "@reprise/protocol";
import { AppendQueue } from "./pending-drafts.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import { isHead, type LogHead, toHead } from "./log-head.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import type { Publish, PublishOutcome } from "../nats/publisher.ts";
import { findRemainingLog, readAfterHead, type RemainingLog } from "./rollback.ts";
import { resolvePublish } from "./resolve-publish.ts";

/** How an appender ended up. */
export type AppenderState =
  /** Everything that was appended is stored. */
  | { kind: "open" }
  /** Another writer's event has ended this appender. */
  | { kind: "fenced"; by: KnownEvent | UnknownEvent }
  /**
   * The store has lost events that it had acknowledged, the head among them. `events` is what the leader has, whole, and `head`
   * its last event: the lost ones are to be appended behind it, under a new attempt. What waited here is dropped.
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
  /** Whether another writer's event ends this appender. */
  isFence: (event: KnownEvent | UnknownEvent) => boolean;
  /** Called once, when the appender is no longer open. */
  onEnd?: (state: AppenderState) => void;
  /** How long to go on when the broker does not answer. Default 30 s, for an election takes up to 10. */
  retryBudgetMs?: number;
  now?: () => number;
}

/**
 * The only way to write to a generation's log: a chain of compare-and-set publishes with one in flight.
 *
 * Phases of one event. Publish with the last known stream sequence as the expectation. `stored`: the head moves on, next.
 * No responders, as during an election: publish again. Anything else is ambiguous (a lost acknowledgement looks like a
 * conflict once it is retried), so read the head and what follows it from the stream's leader and judge: ours is there: as if
 * acknowledged; another writer's is there: move the head past it and publish again with the next `seq`, or stop if it is a fence;
 * nothing is there, or no leader: publish again, same expectation. A publish that was given up may still arrive after that
 * reading; then the second one conflicts, and the judgement repeats.
 * The head itself is not there: the store was rolled back, and the appender ends.
 */
export class Appender {
  readonly #options: Omit<AppenderOptions, "head">;
  readonly #subject: string;
  readonly #queue = new AppendQueue();
  readonly #now: () => number;
  #head: LogHead;
  #state: AppenderState = { kind: "open" };
  #busy = false;
  #syncWanted = false;
  #observedSeq = -1;
  /** The last event that the live feed has shown. */
  #shownSeq = -1;
  #waiters: (() => void)[] = [];

  constructor({ head, ...options }: AppenderOptions) {
    this.#options = options;
    this.#subject = logSubject(options.ref);
    this.#head = head;
    this.#now = options.now ?? Date.now;
  }

  get head(): LogHead {
    return this.#head;
  }

  get state(): AppenderState {
    return this.#state;
  }

  /** Characters of text that are accepted but not yet stored. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Accepts an event. The first goes out at once; those that come while it is in flight coalesce where they can. */
  append(draft: EventDraft): void {
    if (this.#state.kind !== "open") return;
    this.#queue.push(draft);
    if (!this.#busy) void this.#run();
  }

  /**
   * Tells of an event that was seen on the live feed. One that is not ours, and that no answer in flight will reveal, makes
   * the appender read the log; so does one that is not behind the one before: the feed repeats itself after an election, and
   * begins anew after a rollback.
   */
  observe(seq: number): void {
    const isAgain = seq <= this.#shownSeq;
    this.#shownSeq = seq;
    this.#observedSeq = isAgain ? Number.POSITIVE_INFINITY : Math.max(this.#observedSeq, seq);
    // While a publish is in flight the event may be ours: its answer decides, and then the loop checks again.
    if (this.#isBehind && !this.#busy) this.sync();
  }

  /** Reads what others have stored, or the store has lost, as soon as nothing is in flight: one small request if neither. */
  sync(): void {
    if (this.#state.kind !== "open") return;
    this.#syncWanted = true;
    if (!this.#busy) void this.#run();
  }

  /** Resolves when nothing is queued or in flight, or the appender has ended; the state says which. */
  async settled(): Promise<AppenderState> {
    if (this.#busy) await new Promise<void>((resolve) => this.#waiters.push(resolve));
    return this.#state;
  }

  get #isBehind(): boolean {
    return this.#observedSeq > this.#head.seq;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#state.kind === "open") {
        // What has merely been asked for can wait: a publish finds out by itself whether others have stored anything.
        const draft = this.#isBehind ? undefined : this.#queue.shift();
        if (draft) await this.#store(draft);
        else if (this.#syncWanted || this.#isBehind) await this.#catchUp();
        else break;
      }
    } catch (thrown) {
      this.#end({ kind: "failed", error: toRepriseError(thrown) });
    }
    this.#busy = false;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  async #store(draft: EventDraft): Promise<void> {
    const { publish, writer, retryBudgetMs = 30_000 } = this.#options;
    const deadline = this.#now() + retryBudgetMs;
    for (let tries = 0; this.#state.kind === "open"; tries++) {
      const seq = this.#head.seq + 1;
      const payload = encodeEvent(seq, draft);
      const outcome = await publish(this.#subject, payload, { expectedLast: this.#head.streamSeq, writer });
      if (outcome.kind === "stored") return this.#accept({ payload, streamSeq: outcome.streamSeq, writer });
      if (isUnheard(outcome)) this.#checkBudget(outcome, deadline);
      else if (await this.#settle(seq, outcome, deadline)) return;
      if (outcome.kind === "unavailable" || tries > 0) await backoff(tries);
    }
  }

  /** Finds out what became of our event `seq`. Returns whether it is stored. */
  async #settle(seq: number, outcome: PublishOutcome, deadline: number): Promise<boolean> {
    const { writer } = this.#options;
    for (let tries = 0; ; tries++) {
      try {
        const tail = await this.#readTail();
        if (!tail) return false;
        const judgement = resolvePublish(tail, { writer, seq });
        if (judgement.kind === "landed") this.#accept(judgement.event);
        this.#acceptOthers(judgement.others);
        if (tail.length === 0) this.#checkBudget(outcome, deadline);
        return judgement.kind === "landed";
      } catch (error) {
        if (!(error instanceof RepriseError) || error.code !== "broker_unavailable") throw error;
        this.#checkBudget(outcome, deadline);
        // Without a leader there is no answer to wait for: the next publish finds out.
        if (outcome.kind === "unavailable") return false;
        await backoff(tries);
      }
    }
  }

  async #catchUp(): Promise<void> {
    const { leader, ref } = this.#options;
    this.#syncWanted = false;
    this.#observedSeq = -1;
    try {
      if (isHead(await leader.readLast(ref), this.#head)) return;
      this.#acceptOthers((await this.#readTail()) ?? []);
    } catch (error) {
      // It is not repeated here: the worker syncs at every heartbeat.
      if (!(error instanceof RepriseError) || error.code !== "broker_unavailable") throw error;
    }
  }

  /** What the leader has behind the head. Without the head itself the appender has ended, unless it was there a moment later. */
  async #readTail(): Promise<readonly StoredEvent[] | undefined> {
    const { leader, ref } = this.#options;
    const tail = await readAfterHead(leader, ref, this.#head);
    if (tail) return tail;
    const remains = await findRemainingLog(leader, ref, this.#head);
    if (!remains) return leader.readTail(ref, this.#head.streamSeq);
    this.#end({ kind: "rolled_back", ...remains });
    return undefined;
  }

  #accept(event: StoredEvent): void {
    this.#head = toHead(event);
    this.#options.onStored?.(event);
  }

  #acceptOthers(events: readonly StoredEvent[]): void {
    for (const stored of events) {
      this.#accept(stored);
      const event = decodeEvent(stored.payload);
      if (this.#options.isFence(event)) return this.#end({ kind: "fenced", by: event });
    }
  }

  #checkBudget(outcome: PublishOutcome, deadline: number): void {
    if (this.#now() < deadline) return;
    const why =
      outcome.kind === "unavailable" ? `${outcome.reason} ${outcome.detail ?? ""}`.trim() : outcome.kind;
    throw new RepriseError(
      "broker_unavailable",
      `The log could not be written within the retry budget: ${why}.`,
    );
  }

  #end(state: AppenderState): void {
    this.#state = state;
    this.#queue.clear();
    this.#options.onEnd?.(state);
  }
}

/** Whether the message has reached no server that could store it. An earlier publish of the same event may have. */
function isUnheard(outcome: PublishOutcome): boolean {
  return outcome.kind === "unavailable" && outcome.reason === "no_responders";
}

/** Up to 250 ms, doubling from 5 ms: an election lasts seconds, a replica's lag milliseconds. */
function backoff(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(250, 5 * 2 ** Math.min(tries, 6))));
}
