import { backoffMs, pause } from "@reprise/async";
import { type RepriseError, toRepriseError, type StreamSeq } from "@reprise/protocol";
import { HUB_FAILURE } from "./cache/hub-failure.ts";
import type { GenerationCache } from "./cache/generation-cache.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import { RECHECK_MS } from "../append/rollback.ts";

export interface RepairOptions {
  cache: GenerationCache;
  /** Reads the log until the cache has what is stored now. */
  refresh: () => Promise<void>;
  /** Asks the leader if the log still has the cache's last event. Returns the reason if the cache can't continue. */
  verify: () => Promise<RepriseError | undefined>;
  /** Called when the log has lost what the cache has; or can't be read, or does not close the gap, for a minute. */
  giveUp: (failure: RepriseError) => void;
  /** Called when the leader does not have an event that the live feed has shown: a foreign client may have published it. */
  onError: (error: unknown) => void;
}

const BUDGET_MS = 60_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
/** A replica that does not show the cache's last event usually lags; after this number of tries the leader is asked. */
const TRIES_BEFORE_VERIFYING = 3;
/** After this number of tries, about two seconds, a lagging replica no longer explains the gap: the log may have become another one. */
const TRIES_BEFORE_DOUBT = 8;
/** After this number of tries, about four seconds, an event that the leader still does not show was never stored, or is lost. */
const TRIES_BEFORE_FORGETTING = 12;

/**
 * Brings one cache in line with its log. However often it is requested, one repair runs at a time, and one more after it if it was requested
 * meanwhile. The replica that answers may not have the missing event yet, hence the retries. A repair continues until the cache has no gap and its
 * last event is not doubted any more, or is known to be lost. A gap before an event that the leader does not have does not count.
 */
export class Repair {
  readonly #options: RepairOptions;
  #running = false;
  #again = false;

  constructor(options: RepairOptions) {
    this.#options = options;
  }

  /** Returns whether this began one. */
  request(): boolean {
    this.#again = true;
    if (this.#running) return false;
    this.#running = true;
    void this.#run();
    return true;
  }

  async #run(): Promise<void> {
    const { cache, giveUp } = this.#options;
    const deadline = performance.now() + BUDGET_MS;
    for (let tries = 0; this.#isNeeded && !cache.failure; tries++) {
      this.#again = false;
      try {
        await this.#tryOnce(tries);
      } catch (thrown) {
        const error = toRepriseError(thrown);
        if (!error.retryable || performance.now() > deadline) giveUp(error);
        this.#again = true;
      }
      if (cache.events.hasGap && performance.now() > deadline) giveUp(HUB_FAILURE.hole);
      if (this.#isNeeded) await pause(backoffMs(tries, FIRST_PAUSE_MS, MAX_PAUSE_MS));
    }
    this.#running = false;
  }

  get #isNeeded(): boolean {
    return this.#again || this.#options.cache.events.hasGap || this.#options.cache.events.isDoubted;
  }

  async #tryOnce(tries: number): Promise<void> {
    const { cache, refresh, verify, giveUp, onError } = this.#options;
    await refresh();
    if (cache.events.hasGap && tries >= TRIES_BEFORE_DOUBT) cache.events.doubt();
    if (!cache.events.isDoubted || tries < TRIES_BEFORE_VERIFYING) return;
    const { expectedSeq } = cache.events;
    const failure = await verify();
    if (failure) return giveUp(failure);
    if (!cache.events.hasGap || tries < TRIES_BEFORE_FORGETTING) return;
    cache.events.forgetExpected(expectedSeq);
    onError(HUB_FAILURE.hole);
  }
}

/**
 * Asks the leader if the log still has a doubted cache's last event, and adds the events after it. A deposed leader that does not know it was
 * deposed answers with an old log: it takes two answers, a while apart, to call an event lost.
 * @returns the reason why the cache can't continue; undefined if it can
 * @throws RepriseError `broker_unavailable`
 */
export async function verifyCache(
  leader: LeaderReader,
  cache: GenerationCache,
): Promise<RepriseError | undefined> {
  for (let opinions = 0; opinions < 2; opinions++) {
    if (opinions > 0) await pause(RECHECK_MS);
    cache.events.acceptStored(
      await leader.readTail(cache.ref, (cache.events.lastKnownStreamSeq - 1) as StreamSeq),
    );
    if (!cache.events.isDoubted) return undefined;
  }
  // An empty log may be lost or expired, which cannot be told apart here; the next reader gets what is known of it.
  return (await leader.readLast(cache.ref)) ? HUB_FAILURE.lost : HUB_FAILURE.dropped;
}
