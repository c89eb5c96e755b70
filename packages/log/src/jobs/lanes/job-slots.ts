import type { TenantId } from "@reprise/protocol";

/** The most jobs of one model that a process holds without a slot; beyond that, one that would be parked keeps its slot. */
const MAX_PARKED = 10_000;

export interface SlotEvents {
  /** A slot is free, and no job of this process waits for one. */
  readonly onFreed: (tenant: TenantId) => void;
  /** A parked job has taken a free slot. */
  readonly onOccupied: (tenant: TenantId) => void;
  /** A parked job has taken the slot of another one. */
  readonly onPassed: (from: TenantId, to: TenantId) => void;
}

interface Waiting {
  readonly tenant: TenantId;
  readonly resume: () => void;
}

/** The slots of one model, and the parked jobs that wait for one. */
export class JobSlots {
  readonly #events: SlotEvents;
  readonly #waiting: Waiting[] = [];
  #free: number;
  parked = 0;

  constructor(slots: number, events: SlotEvents) {
    this.#free = slots;
    this.#events = events;
  }

  /** A job has come for which there is a slot. */
  take(tenant: TenantId): JobSlot {
    this.#free--;
    return new JobSlot(this, tenant);
  }

  get isCrowded(): boolean {
    return this.parked >= MAX_PARKED;
  }

  free(tenant: TenantId): void {
    const next = this.#waiting.shift();
    if (next) {
      this.#events.onPassed(tenant, next.tenant);
      next.resume();
    } else {
      this.#free++;
      this.#events.onFreed(tenant);
    }
  }

  /** Resolves with a slot, before any job that is still to come gets one; or without one when the signal is aborted. */
  async wait(tenant: TenantId, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#free > 0) {
      this.#free--;
      this.#events.onOccupied(tenant);
      return true;
    }
    return new Promise((resolve) => {
      const waiting = {
        tenant,
        resume() {
          signal.removeEventListener("abort", giveUp);
          resolve(true);
        },
      };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(false);
      };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }
}

/** The slot of one running job, which may be without it for a while. */
export class JobSlot {
  readonly #slots: JobSlots;
  readonly #tenant: TenantId;
  #held = true;
  #ended = false;

  constructor(slots: JobSlots, tenant: TenantId) {
    this.#slots = slots;
    this.#tenant = tenant;
  }

  park(): void {
    if (!this.#held || this.#slots.isCrowded) return;
    this.#held = false;
    this.#slots.parked++;
    this.#slots.free(this.#tenant);
  }

  async unpark(signal: AbortSignal): Promise<void> {
    if (this.#held || this.#ended || !(await this.#slots.wait(this.#tenant, signal))) return;
    this.#held = true;
    this.#slots.parked--;
  }

  /** The job has ended. */
  end(): void {
    if (this.#held) this.#slots.free(this.#tenant);
    else this.#slots.parked--;
    this.#ended = true;
  }
}
