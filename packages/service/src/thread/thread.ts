import { once } from "node:events";
import { type Transferable, Worker } from "node:worker_threads";
import { RepriseError } from "@reprise/protocol";
import { type Answer, type Call, fromSentError } from "./messages.ts";

export interface ThreadOptions {
  /** A script that calls `serveThread`. */
  readonly script: URL;
  /** What the script is started with; a structured clone of it arrives there. */
  readonly data: unknown;
}

interface Running {
  readonly worker: Worker;
  readonly pending: Map<number, PromiseWithResolvers<unknown>>;
}

/** How long a thread may take to end by itself. */
const CLOSE_MS = 5_000;

/**
 * A thread beside the main one, with an event loop and a heap of its own: what keeps it busy, and its garbage collections, hold up nothing
 * here. It is started by the first call, and after its death by the next one.
 */
export class Thread implements AsyncDisposable {
  readonly #options: ThreadOptions;
  #running: Running | undefined;
  #isClosed = false;
  #lastId = 0;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** For how long the event loop of the thread that runs now was busy so far, in milliseconds; 0 where none runs. */
  get busyMs(): number {
    return this.#running?.worker.performance.eventLoopUtilization().active ?? 0;
  }

  /**
   * Calls a method over there. What is transferred can no longer be used here.
   * @throws what the method throws; RepriseError `overloaded` when the thread has died under it, or is closed
   */
  async call<T>(method: string, argument: unknown, transfer: readonly Transferable[] = []): Promise<T> {
    if (this.#isClosed) throw new RepriseError("overloaded", "This process is stopping.");
    const { worker, pending } = (this.#running ??= this.#start());
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    pending.set(id, answer);
    worker.postMessage({ id, method, argument } satisfies Call, [...transfer]);
    return answer.promise as Promise<T>;
  }

  /** Calls a method where the thread runs; one that was never started, or has died, has nothing to be told. */
  async tell(method: string, argument: unknown): Promise<void> {
    if (this.#running) await this.call(method, argument);
  }

  /** Ends the thread, with what it is still at. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#running?.worker;
    if (!worker) return;
    const exited = once(worker, "exit");
    const late = setTimeout(() => void worker.terminate(), CLOSE_MS);
    worker.postMessage(undefined);
    await exited.finally(() => clearTimeout(late));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(): Running {
    const { script, data } = this.#options;
    // No flag of the main thread is meant for it: a profile or a preload there would be one too many.
    const worker = new Worker(script, { workerData: data, execArgv: [] });
    const running: Running = { worker, pending: new Map() };
    worker.on("message", (answer: Answer) => {
      const waiting = running.pending.get(answer.id);
      running.pending.delete(answer.id);
      if ("error" in answer) waiting?.reject(fromSentError(answer.error));
      else waiting?.resolve(answer.result);
    });
    const end = (cause?: unknown) => {
      if (this.#running === running) this.#running = undefined;
      const options = cause === undefined ? {} : { cause };
      const error = new RepriseError("overloaded", "The thread that worked on this has ended.", options);
      for (const { reject } of running.pending.values()) reject(error);
      running.pending.clear();
    };
    worker.on("error", end);
    worker.on("exit", () => end());
    return running;
  }
}
