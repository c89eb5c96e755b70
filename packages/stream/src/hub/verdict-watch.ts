import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { toRepriseError, type Verdict, type Seq, REQUEST_SEQ } from "@reprise/protocol";
import { flushConnection } from "@reprise/broker";
import {
  ModerationTimeout,
  type ModerationLag,
  subscribeVerdicts,
  type VerdictReader,
} from "@reprise/moderation";
import type { GenerationCache } from "./cache/generation-cache.ts";

export interface VerdictWatchOptions {
  connection: NatsConnection;
  verdicts: Pick<VerdictReader, "readVerdict">;
  /** Called when readers of the cache can be sent more. */
  onShown: (cache: GenerationCache) => void;
  /**
   * Called when no verdict has gone beyond `judged` during the policy's time; again, with longer and longer pauses, when it rejects. By
   * then a verdict may have come.
   */
  onModerationTimeout: (cache: GenerationCache, judged: Seq) => Promise<void>;
  /** Called with how far the cache's readers were ahead, whenever more is judged. */
  onLag: (lag: ModerationLag) => void;
  onError: (error: unknown) => void;
}

const MAX_WAIT_MS = 10_000;

/**
 * Gives one moderated cache its verdicts: live, and from what is stored where the live feed may have lost one.
 * Also notices that no verdicts come.
 */
export class VerdictWatch {
  readonly #options: VerdictWatchOptions;
  readonly #cache: GenerationCache;
  readonly #lateness: ModerationTimeout;
  #live: Subscription | undefined;
  #progress = 0;
  #waitMs = 0;
  #dueAt = 0;
  #busy = false;

  private constructor(options: VerdictWatchOptions, cache: GenerationCache) {
    this.#options = options;
    this.#cache = cache;
    this.#lateness = new ModerationTimeout(cache.policy?.moderation?.on_unavailable.after_ms ?? 0);
  }

  /**
   * Subscribes before reading, so that nothing falls between the two. What can't be read now is read later: until then nothing is
   * shown that waits for it.
   * @throws RepriseError `broker_unavailable`; no subscription is left then
   */
  static async open(options: VerdictWatchOptions, cache: GenerationCache): Promise<VerdictWatch> {
    const watch = new VerdictWatch(options, cache);
    if (cache.shown.visibility)
      cache.shown.visibility.onLag = (lag) => {
        if (cache.readers > 0) options.onLag(lag);
      };
    watch.#live = subscribeVerdicts(options.connection, cache.ref, {
      onVerdict: (verdict) => watch.#accept(verdict),
      onError: options.onError,
    });
    try {
      await flushConnection(options.connection);
      await watch.#read();
      return watch;
    } catch (error) {
      watch.stop();
      throw error;
    }
  }

  /** To be called a few times a second. Reads what is stored while something is held: less and less often, until anything moves. */
  sweep(now: number, everyMs: number): void {
    const { lastSeq, settledSeq, visibility } = this.#cache.shown;
    const judged = visibility?.judged ?? REQUEST_SEQ;
    const isLate = this.#lateness.observe(now, judged, visibility?.isUnjudged(lastSeq) ?? false);
    const progress = settledSeq + judged;
    if (progress !== this.#progress || settledSeq === lastSeq) {
      this.#progress = progress;
      this.#waitMs = everyMs;
      this.#dueAt = now + everyMs;
    }
    if (this.#busy || (now < this.#dueAt && !isLate)) return;
    this.#waitMs = Math.min(MAX_WAIT_MS, this.#waitMs * 2);
    this.#dueAt = now + this.#waitMs;
    this.#busy = true;
    if (isLate) this.#lateness.reporting(now);
    const work = isLate ? this.#report(judged) : this.#read();
    void work.finally(() => (this.#busy = false));
  }

  stop(): void {
    this.#live?.unsubscribe();
    this.#live = undefined;
  }

  /** The live feed may have lost verdicts, so the stored one is read before a timeout is reported. */
  async #report(judged: Seq): Promise<void> {
    const isRead = await this.#read();
    if (!isRead || !this.#live) return;
    try {
      await this.#options.onModerationTimeout(this.#cache, judged);
      this.#lateness.reported(judged);
    } catch (error) {
      this.#tell(error);
    }
  }

  /** @returns whether it was possible */
  async #read(): Promise<boolean> {
    try {
      const stored = await this.#options.verdicts.readVerdict(this.#cache.ref);
      if (stored) this.#accept(stored.verdict);
      return true;
    } catch (error) {
      this.#tell(error);
      return false;
    }
  }

  #accept(verdict: Verdict): void {
    if (this.#cache.shown.acceptVerdict(verdict)) this.#options.onShown(this.#cache);
  }

  /** A broker that is away is no defect. */
  #tell(error: unknown): void {
    if (!toRepriseError(error).retryable) this.#options.onError(error);
  }
}
