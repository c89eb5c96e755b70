import { decodeEvent, type KnownEvent, toRepriseError } from "@reprise/protocol";
import type { SseEnd } from "@reprise/testkit";
import type { TestedGeneration } from "../trial/tested-generation.ts";

/** One event as a reader was shown it. */
export interface Seen {
  readonly seq: number;
  readonly payload: string;
  /** By `performance.now()`. */
  readonly at: number;
  /** Which of the reader's connections brought it, the first is 1. */
  readonly connection: number;
}

/** The end of one response. */
export interface ResponseEnd {
  /** Which of the reader's connections it was, the first is 1. */
  readonly connection: number;
  /** `clean`: whole. `broken`: the connection ended first. `error`: an error frame said so. `cut`: the reader itself gave it up. */
  readonly how: SseEnd | "error";
  /** True if the reader had been shown the terminal event by then, on any connection. */
  readonly isTold: boolean;
  /** True if the trial's fault may have broken it. */
  readonly isExcused: boolean;
}

/** The end of a reader's reading. `refused`: with an error that is no use repeating, which no fault excuses. */
export type ReaderEnd =
  | { readonly type: "ended" }
  | { readonly type: "left" }
  | { readonly type: "refused"; readonly code: string; readonly message: string };

/** The events that one reader was shown, and when. */
export class ReaderRecord {
  readonly name: string;
  readonly generation: TestedGeneration;
  readonly seen: Seen[] = [];
  /** Of a bare reader: how its responses ended that were streams. The SDK keeps its own to itself. */
  readonly responses: ResponseEnd[] = [];
  /** Connections made or tried. */
  connections = 0;
  /** The node of the present connection, or of the last one, as an index of the world's. Undefined before the first. */
  node: number | undefined;
  /** Called for each event in the moment in which it is shown. */
  onShown: ((seq: number) => void) | undefined;
  /** Never rejects. */
  readonly done: Promise<ReaderEnd>;
  readonly #finished = Promise.withResolvers<ReaderEnd>();
  #waiting: { holds: () => boolean; resolve: () => void }[] = [];
  #isDone = false;

  constructor(name: string, generation: TestedGeneration) {
    this.name = name;
    this.generation = generation;
    this.done = this.#finished.promise;
  }

  show(seq: number, payload: string): void {
    this.seen.push({ seq, payload, at: performance.now(), connection: this.connections });
    this.onShown?.(seq);
    this.#tell();
  }

  finish(end: ReaderEnd): void {
    this.#isDone = true;
    this.#finished.resolve(end);
    this.#tell();
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** The seq of the last event; 0 before the first. */
  get lastSeq(): number {
    return this.seen.at(-1)?.seq ?? 0;
  }

  /** The worker that writes the log, as far as this reader knows. */
  get worker(): string | undefined {
    const started = this.seen.findLast(({ payload }) => payload.includes('"type":"generation.started"'));
    return started && (decodeEvent(started.payload) as KnownEvent & { worker: string }).worker;
  }

  /** Resolves when it holds, or when the reading is over. */
  until(holds: (record: ReaderRecord) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ holds: () => holds(this), resolve });
    this.#tell();
    return promise;
  }

  #tell(): void {
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter(({ holds }) => this.#isDone || holds());
    this.#waiting = this.#waiting.filter((each) => !ready.includes(each));
    for (const { resolve } of ready) resolve();
  }
}

/** A reader under way. */
export interface Reader {
  readonly record: ReaderRecord;
  /** Takes nothing more from its socket until `resume()`. */
  pause(): void;
  resume(): void;
  /** Closes the connection and does not come back. */
  leave(): void;
}

/** Returns the end of a reading that threw. */
export function toEnd(thrown: unknown, left: AbortSignal): ReaderEnd {
  if (left.aborted) return { type: "left" };
  const { code, message } = toRepriseError(thrown);
  return { type: "refused", code, message };
}

/** The gate at which a reader that can be held up waits before it takes the next event. */
export class Gate {
  #open: PromiseWithResolvers<void> | undefined;

  get isClosed(): boolean {
    return this.#open !== undefined;
  }

  close(): void {
    this.#open ??= Promise.withResolvers();
  }

  open(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  async passed(): Promise<void> {
    while (this.#open) await this.#open.promise;
  }
}
