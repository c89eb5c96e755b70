import { Semaphore } from "@reprise/async";
import { ANALYTICS_LIMITS, RepriseError } from "@reprise/protocol";

/** Answers to tenants at a time: each holds sums of up to 1,000 groups. They work in slices, so a short one does not wait for the end of a long one. */
const MOST_ANSWERS = 3;
/** The operator, whose questions about all tenants have a semaphore of their own: no number of tenants keeps them waiting. */
export const OPERATOR = "";
/** Questions of one tenant, and of all, that are answered or wait; more are told to come again. A dashboard asks seven at once. */
export const MOST_OF_TENANT = 32;
const MOST = 256;

interface TenantGate {
  readonly gate: Semaphore;
  asked: number;
}

/** Whose question is answered next: one of each tenant at a time, and tenants in the order in which they came; the operator's beside them. So a tenant with many questions keeps no other one waiting for long. */
export class FairSemaphore {
  readonly #gate = new Semaphore(MOST_ANSWERS);
  readonly #operator = new Semaphore(1);
  readonly #tenants = new Map<string, TenantGate>();
  readonly #waitMs: number;
  #asked = 0;

  /** @param waitMs how long callers wait. Default: as long as delivery does */
  constructor(waitMs: number = ANALYTICS_LIMITS.answerMs) {
    this.#waitMs = waitMs;
  }

  /**
   * @param answer is called with a signal that aborts when its caller waits no longer; not at all if it aborts before that
   * @param hungUp aborts when the caller is gone
   * @throws RepriseError `analytics_unavailable` where too many wait, or this one has waited for too long
   */
  async run<T>(
    tenant: string,
    answer: (signal: AbortSignal) => Promise<T>,
    hungUp?: AbortSignal,
  ): Promise<T> {
    const own = this.#tenants.get(tenant) ?? { gate: new Semaphore(1), asked: 0 };
    if (own.asked >= MOST_OF_TENANT) throw busy(`${own.asked} questions of this tenant`);
    if (this.#asked >= MOST) throw busy(`${this.#asked} questions`);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate()), this.#waitMs);
    const signal = hungUp ? AbortSignal.any([late.signal, hungUp]) : late.signal;
    const gate = tenant === OPERATOR ? this.#operator : this.#gate;
    this.#tenants.set(tenant, own);
    own.asked++;
    this.#asked++;
    try {
      return await own.gate.run(() => gate.run(() => answer(signal), signal), signal);
    } finally {
      clearTimeout(timer);
      this.#asked--;
      if (--own.asked === 0) this.#tenants.delete(tenant);
    }
  }
}

/** Error of a question that took longer than its caller waits. */
function tooLate(): RepriseError {
  const message = "Analytics could not answer in time: ask for a shorter time, or later.";
  return new RepriseError("analytics_unavailable", message, { retryAfterMs: 10_000 });
}

function busy(waiting: string): RepriseError {
  return new RepriseError("analytics_unavailable", `${waiting} to analytics wait already.`, {
    retryAfterMs: 1_000,
  });
}
