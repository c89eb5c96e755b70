import { randomBytes } from "node:crypto";
import {
  Appender,
  type Checkpointer,
  type Chunking,
  createCheckpointer,
  extendFromLeader,
  type GenerationLog,
  headOf,
  type LogSnapshot,
  readCurrentLog,
  type StoredEvent,
  subscribeLive,
} from "@reprise/stream";
import { type Broker, createWriterName } from "@reprise/broker";
import type { Job } from "@reprise/jobs";
import {
  decodeEvent,
  type GenerationRef,
  isTerminal,
  type KnownEvent,
  peekSeq,
  peekType,
  type UnknownEvent,
} from "@reprise/protocol";
import { RunTranscript } from "../../domain/run-transcript.ts";

interface RunLogOptions {
  readonly connection: Broker["main"];
  readonly log: GenerationLog;
  readonly job: Job;
  readonly snapshot: LogSnapshot;
  /** After how long without a heartbeat the job goes to another worker. */
  readonly ackWaitMs: number;
  /** Called for every event that is stored from now on, in order, of any writer. */
  readonly onStored?: (event: StoredEvent) => void;
  /** Called for each of this run's own events once it is stored, with how long that took. */
  readonly onStoredAfter?: (ms: number) => void;
  /** The time that deltas wait for further ones. Default: they are stored at once. */
  readonly chunking?: Chunking | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * A generation's log, as one worker follows and writes it while it holds the job: the appender, its checkpoints, the live
 * feed of other writers' events, and the heartbeats that keep the job.
 *
 * Until it has stored an event of its own, any event of another writer fences it: its plan was made for another log. After that only an
 * end does, a higher attempt, and moderation's halt, after which only the end is left to plan.
 */
export class RunLog implements Disposable {
  readonly #options: Omit<RunLogOptions, "snapshot">;
  readonly #writer = createWriterName();
  readonly #ended = new AbortController();
  readonly #checkpointer: Checkpointer;
  /** Writes to the log. */
  readonly appender: Appender;
  readonly #disposables = new DisposableStack();
  #begun = false;
  #turn = new AbortController();
  #others = Promise.withResolvers<void>();

  /** Whose log it is. */
  get ref(): GenerationRef {
    return this.#options.job.ref;
  }

  constructor({ snapshot, ...options }: RunLogOptions) {
    this.#options = options;
    const { connection, log, job, ackWaitMs, onError } = options;
    this.#checkpointer = createCheckpointer({
      publish: log.publishCheckpoint,
      ref: job.ref,
      snapshot,
      maxBytes: log.maxCheckpointBytes,
      now: performance.now(),
    });
    this.appender = new Appender({
      ...log,
      ref: job.ref,
      head: headOf(snapshot),
      writer: this.#writer,
      onStored: (event) => this.#stored(event),
      onStoredAfter: options.onStoredAfter,
      chunking: options.chunking,
      isFence: (event) => !this.#begun || isFence(event) || event.type === "moderation.halted",
      onEnd: () => this.#ended.abort(),
    });
    // A job holds the request too. It is kept once, where the checkpoint needs it: it may be a megabyte, and a run may take hours.
    if (Buffer.compare(job.payload, this.first()) === 0) job.holdPayloadAt(() => this.#checkpointer.first());
    const live = subscribeLive(connection, job.ref, {
      onEvent: (payload) => this.appender.observe(peekSeq(payload)),
      onError,
    });
    const heartbeat = setInterval(() => this.#beat(), ackWaitMs / 3);
    this.#disposables.defer(() => clearInterval(heartbeat));
    this.#disposables.defer(() => live.unsubscribe());
  }

  /** Aborted when there is nothing more to write: this worker is fenced, or the log can't be written. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Begins a turn. @returns a signal that is aborted when a reader interrupts it */
  beginTurn(): AbortSignal {
    this.#turn = new AbortController();
    return this.#turn.signal;
  }

  /** Resolves when another writer has stored an event since this was last called. */
  async foreignEvent(): Promise<void> {
    await this.#others.promise;
    this.#others = Promise.withResolvers();
  }

  /** The payload of the oldest event, seq 0 unless that has expired: a view. */
  first(): Uint8Array {
    return this.#checkpointer.first();
  }

  /** The payloads of what is stored, seq 0 first; undefined for a log that has outgrown its checkpoint. */
  held(): Uint8Array[] | undefined {
    return this.#checkpointer.events();
  }

  /** Returns the transcript of the stored log. */
  async transcript(): Promise<RunTranscript> {
    return foldLog(this.held() ?? (await this.snapshot()).events);
  }

  /** The same once everything that was appended is in it; undefined when the log is no longer this worker's to write. */
  async settledTranscript(): Promise<RunTranscript | undefined> {
    return (await this.appender.settled()).kind === "open" ? this.transcript() : undefined;
  }

  /** The log as its leader has it, what others have appended included. */
  snapshot(): Promise<LogSnapshot> {
    const { log, job } = this.#options;
    const events = this.held();
    if (!events) return readCurrentLog(log, job.ref);
    return extendFromLeader(log.leader, job.ref, { events, streamSeq: this.appender.head.streamSeq });
  }

  /** Resolves when none of its checkpoints is on its way. After its end a log writes none by itself: the store may have lost what they hold. */
  checkpointsSettled(): Promise<void> {
    return this.#checkpointer.settled();
  }

  /** Writes the final checkpoint. */
  flush(): Promise<void> {
    return this.#checkpointer.flush();
  }

  [Symbol.dispose](): void {
    this.#disposables.dispose();
  }

  #stored(event: StoredEvent): void {
    if (event.writer === this.#writer) this.#begun = true;
    else {
      if (peekType(event.payload) === "output.rewind") this.#turn.abort();
      this.#others.resolve();
    }
    this.#checkpointer.add(event.payload, event.streamSeq, performance.now());
    this.#options.onStored?.(event);
  }

  #beat(): void {
    this.#options.job.working();
    if (this.signal.aborted) return;
    this.#checkpointer.tick(performance.now());
    this.appender.sync();
  }
}

/**
 * Folds a log into the transcript for a worker that continues it: all output, also if it was withdrawn from readers. Seq 0 has no output and is not
 * parsed: it may be a megabyte, and a log is folded several times in a run.
 */
export function foldLog(events: readonly Uint8Array[]): RunTranscript {
  const transcript = new RunTranscript({ original: true });
  for (const payload of events) if (peekSeq(payload) !== 0) transcript.apply(decodeEvent(payload));
  return transcript;
}

/** True if another writer's event ends this worker's attempt. */
export function isFence(event: KnownEvent | UnknownEvent): boolean {
  return event.type === "generation.started" || isTerminal(event.type);
}

/** Returns a nonce, which distinguishes attempts of the same number: a worker can't know of attempts that the store has lost. */
export function createNonce(): string {
  return randomBytes(3).toString("hex");
}
