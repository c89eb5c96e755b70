import { Semaphore } from "@reprise/async";
import { admit, type BreakerOptions, type BreakerState, CLOSED, settle, type Settlement } from "./breaker.ts";
import type { Classifier, ClassifierSubject, Judgement, Unjudged } from "./classifier.ts";

export interface ProtectionOptions {
  /** For one window, from the call to the judgement, the wait for a slot included. */
  readonly timeoutMs: number;
  /** Windows that the classifier has before it at once. */
  readonly maxConcurrency: number;
  /** Default: after 5 failures running not asked for 1 s, then for twice as long each time, at most 30 s. */
  readonly breaker?: BreakerOptions;
  /** Default: a clock that never goes back. */
  readonly now?: () => number;
}

const DEFAULT_BREAKER: BreakerOptions = { failuresToOpen: 5, openMs: 1_000, maxOpenMs: 30_000 };
/** The reason of an abort, told from others by its identity. */
const TIMEOUT = new Error("The classifier did not answer in time.");

/**
 * The same classifier, which always answers or fails within `timeoutMs`, has a bounded number of calls under way, and is not
 * called while it keeps failing. What counts as a failure is that no answer comes: an answer that makes no sense may be the text's doing, and
 * no text may switch a classifier off. More windows than it can ever judge look like a failure too: then the line is given up at once
 * instead of every window's being asked too late. `close` lets what is under way be judged first.
 */
export function protectClassifier(
  classifier: Classifier,
  { timeoutMs, maxConcurrency, breaker = DEFAULT_BREAKER, now = () => performance.now() }: ProtectionOptions,
): Classifier {
  const calls = new Semaphore(maxConcurrency);
  const pending = new Set<Promise<Judgement>>();
  let state: BreakerState = CLOSED;

  async function ask(subject: ClassifierSubject, signal: AbortSignal): Promise<Judgement> {
    const { state: next, admission } = admit(state, now());
    state = next;
    if (admission === "refused") return { kind: "unjudged", reason: "open" };
    let settlement: Settlement = "failure";
    try {
      const judgement = await untilAborted(classifier.classify(subject, signal), signal);
      settlement = answered(judgement) ? "success" : "failure";
      return judgement;
    } catch (error) {
      if (signal.aborted && signal.reason !== TIMEOUT) settlement = "abandoned";
      throw error;
    } finally {
      state = settle(state, { admission, settlement, nowMs: now() }, breaker);
    }
  }

  async function classify(subject: ClassifierSubject, signal: AbortSignal): Promise<Judgement> {
    signal.throwIfAborted();
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => stop.abort(TIMEOUT), timeoutMs);
    try {
      return await calls.run(() => ask(subject, stop.signal), stop.signal);
    } catch (error) {
      signal.throwIfAborted();
      return toUnjudged(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    name: classifier.name,
    async classify(subject, signal) {
      const judging = classify(subject, signal);
      pending.add(judging);
      try {
        return await judging;
      } finally {
        pending.delete(judging);
      }
    },
    async close() {
      await Promise.allSettled(pending);
      await classifier.close();
    },
  };
}

function answered(judgement: Judgement): boolean {
  return judgement.kind === "judged" || judgement.reason === "invalid";
}

/** Reports only the name of an error: its message may quote the text. */
function toUnjudged(error: unknown): Unjudged {
  if (error === TIMEOUT) return { kind: "unjudged", reason: "timeout" };
  return { kind: "unjudged", reason: "unavailable", detail: error instanceof Error ? error.name : "unknown" };
}

/** An adapter may take its time to notice. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
