import { Semaphore } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";

/** Answers at a time: each holds sums of up to 1,000 groups. */
const MOST_ANSWERS = 2;
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
  #asked = 0;

  /** @throws RepriseError `analytics_unavailable` where too many wait */
  async run<T>(tenant: string, answer: () => Promise<T>): Promise<T> {
    const own = this.#tenants.get(tenant) ?? { gate: new Semaphore(1), asked: 0 };
    if (own.asked >= MOST_OF_TENANT) throw busy(`${own.asked} questions of this tenant`);
    if (this.#asked >= MOST) throw busy(`${this.#asked} questions`);
    this.#tenants.set(tenant, own);
    own.asked++;
    this.#asked++;
    try {
      return await own.gate.run(() => this.#gate.run(answer));
    } finally {
      this.#asked--;
      if (--own.asked === 0) this.#tenants.delete(tenant);
    }
  }
}

function busy(waiting: string): RepriseError {
  return new RepriseError("analytics_unavailable", `${waiting} to analytics wait already.`, {
    retryAfterMs: 1_000,
  });
}
