import { Semaphore } from "@reprise/async";
import { ANALYTICS_LIMITS, RepriseError } from "@reprise/protocol";

/** Answers at a time: each holds sums of up to 1,000 groups. They take turns in slices, so a short one does not wait for the end of a long one. */
const MOST_ANSWERS = 4;
/** Questions of one tenant, and of all, that are answered or wait; more are told to come again. A dashboard asks seven at once. */
export const MOST_OF_TENANT = 32;
const MOST = 256;

interface TenantTurns {
  readonly gate: Semaphore;
  asked: number;
}

/** Whose question is answered next: one of each tenant at a time, and tenants in the order in which they came. So a tenant with many questions keeps no other one waiting for long. */
export class FairTurns {
  readonly #gate = new Semaphore(MOST_ANSWERS);
  readonly #tenants = new Map<string, TenantTurns>();
  readonly #waitMs: number;
  #asked = 0;

  /** @param waitMs how long callers wait. Default: as long as delivery does */
  constructor(waitMs: number = ANALYTICS_LIMITS.answerMs) {
    this.#waitMs = waitMs;
  }

  /**
   * @param answer is told until when its caller waits, by `performance.now()`; it is not called after that
   * @throws RepriseError `analytics_unavailable` where too many wait, or this one has waited for too long
   */
  async run<T>(tenant: string, answer: (untilMs: number) => Promise<T>): Promise<T> {
    const untilMs = performance.now() + this.#waitMs;
    const answerInTime = () => {
      if (performance.now() >= untilMs) throw tooLate();
      return answer(untilMs);
    };
    const own = this.#tenants.get(tenant) ?? { gate: new Semaphore(1), asked: 0 };
    if (own.asked >= MOST_OF_TENANT) throw busy(`${own.asked} questions of this tenant`);
    if (this.#asked >= MOST) throw busy(`${this.#asked} questions`);
    this.#tenants.set(tenant, own);
    own.asked++;
    this.#asked++;
    try {
      return await own.gate.run(() => this.#gate.run(async () => answerInTime()));
    } finally {
      this.#asked--;
      if (--own.asked === 0) this.#tenants.delete(tenant);
    }
  }
}

/** Of a question that took longer than its caller waits. */
export function tooLate(): RepriseError {
  const message = "Analytics could not answer in time: ask for a shorter time, or later.";
  return new RepriseError("analytics_unavailable", message, { retryAfterMs: 10_000 });
}

function busy(waiting: string): RepriseError {
  return new RepriseError("analytics_unavailable", `${waiting} to analytics wait already.`, {
    retryAfterMs: 1_000,
  });
}
