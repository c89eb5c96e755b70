import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import { RepriseError, toRepriseError } from "@reprise/protocol";
import { watchConnection } from "../nats/watch-connection.ts";

/**
 * Called when a follower has not been able to read what it follows for a while, with why, and with undefined once it has read it again.
 * @param what it follows: "the tenants"
 */
export type OnStale = (what: string, failure: RepriseError | undefined) => void;

export interface RefreshOptions {
  readonly connection: NatsConnection;
  /** Name of the followed data, for messages. */
  readonly what: string;
  /** Reads what has changed. Never called again before it has settled. */
  readonly read: () => Promise<void>;
  /** Called before the first read after a lost connection is back. */
  readonly onUp?: (() => void) | undefined;
  readonly onStale?: OnStale | undefined;
  /** Milliseconds between unrequested calls of `read`. Default 500 ms. */
  readonly everyMs?: number | undefined;
  /** For how long no read succeeds before `onStale` is called, in whole periods of `everyMs`. Default 5 s. */
  readonly staleMs?: number | undefined;
}

const EVERY_MS = 500;
const STALE_MS = 5_000;
const LOAD_BUDGET_MS = 20_000;
const LOAD_PAUSE_MS = 100;

/**
 * Keeps a process's data from the broker up to date, without a consumer: it is read again at fixed times, when a hint asks for it, and once a lost
 * connection is back. A hint only makes the read earlier, so a lost or forged one does no harm.
 *
 * A follower that can't read continues with its old data, and reports it. Periods without a successful read are counted, not time: a process that was
 * paused has missed none. Periods without a connection do not count, because the connection's loss is reported separately.
 */
export class RefreshLoop {
  readonly #options: RefreshOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #missesUntilStale: number;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isDown = false;
  #misses = 0;
  #failure: unknown;
  #isStale = false;
  #isClosed = false;

  constructor(options: RefreshOptions) {
    this.#options = options;
    const { connection, onUp, everyMs = EVERY_MS, staleMs = STALE_MS } = options;
    this.#missesUntilStale = Math.ceil(staleMs / everyMs);
    this.#timer = setInterval(() => this.#tick(), everyMs).unref();
    watchConnection(connection, {
      onDown: () => (this.#isDown = true),
      onUp: () => {
        if (this.#isClosed) return;
        this.#isDown = false;
        this.#misses = 0;
        onUp?.();
        this.hint();
      },
    });
  }

  /** Reads soon. What fails is tried again. */
  hint(): void {
    void this.sync().catch(() => {});
  }

  /** Resolves when what was stored before the call has been read, or rejects with why it could not be. */
  sync(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    if (!this.#running) return this.#run();
    // One that is under way may have asked already.
    this.#next ??= this.#running.then(
      () => this.#run(),
      () => this.#run(),
    );
    return this.#next;
  }

  /**
   * Reads for the first time.
   * @throws what the last read has failed with, after 20 s
   */
  async load(): Promise<void> {
    const attempt = () =>
      this.sync().then(
        () => true,
        () => undefined,
      );
    if (await retry(attempt, { pauseMs: LOAD_PAUSE_MS, budgetMs: LOAD_BUDGET_MS })) return;
    throw this.#failure;
  }

  /** Resolves when no read is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled([this.#running, this.#next]);
  }

  #run(): Promise<void> {
    this.#next = undefined;
    if (this.#isClosed) return Promise.resolve();
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #read(): Promise<void> {
    try {
      await this.#options.read();
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    this.#misses = 0;
    this.#failure = undefined;
    if (this.#isStale) this.#tell(undefined);
  }

  #tick(): void {
    if (!this.#isDown) this.#misses++;
    if (this.#misses >= this.#missesUntilStale && !this.#isStale)
      this.#tell(this.#failure === undefined ? unanswered() : toRepriseError(this.#failure));
    this.hint();
  }

  #tell(failure: RepriseError | undefined): void {
    this.#isStale = failure !== undefined;
    // A read may close the loop since it has found what was waited for: that it could read is still told.
    if (!this.#isClosed || !failure) this.#options.onStale?.(this.#options.what, failure);
  }
}

function unanswered(): RepriseError {
  return new RepriseError("broker_unavailable", "The broker does not answer.");
}
