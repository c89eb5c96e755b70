import type { LaneName, TenantId } from "@reprise/protocol";
import type { SharingInput } from "./slot-sharing.ts";

/** The most jobs of one model that a process holds without a slot; beyond that, one that would be parked keeps its slot. */
const MAX_PARKED = 10_000;

/** The jobs of one model in this process: which have a slot, want one again, or can be handed over. Which of them gets one is decided elsewhere. */
export class JobSlots {
  readonly #tell: (input: SharingInput) => void;
  readonly #waiting = new Set<{ readonly lane: LaneName; readonly resume: () => void }>();
  /** Batch jobs that can be handed over, and how they are told to. */
  readonly #yieldable = new Map<JobSlot, () => void>();
  /** Those that have lost their slot and still run. While one of its jobs does, a tenant loses no other slot. */
  readonly #leaving = new Set<JobSlot>();
  parked = 0;
  #started = 0;

  /** @param tell what `SlotSharing` has to know */
  constructor(tell: (input: SharingInput) => void) {
    this.#tell = tell;
  }

  /** A job has come for which there is a slot. */
  start({ tenant, priority }: LaneName): JobSlot {
    return new JobSlot(this, { tenant, priority }, ++this.#started);
  }

  get isCrowded(): boolean {
    return this.parked >= MAX_PARKED;
  }

  /** The job of a lane that has waited the longest has a slot. */
  resume({ tenant, priority }: LaneName): void {
    const next = this.#waiting
      .values()
      .find(({ lane }) => lane.tenant === tenant && lane.priority === priority);
    if (!next) throw new Error(`No job of tenant "${tenant}" waits for a slot.`);
    this.#waiting.delete(next);
    next.resume();
  }

  /** The tenant's batch job that began last loses its slot. */
  takeFrom(tenant: TenantId): void {
    const [youngest] = [...this.#yieldable.keys()]
      .filter(({ lane }) => lane.tenant === tenant)
      .toSorted((one, other) => other.number - one.number);
    if (!youngest) throw new Error(`No job of tenant "${tenant}" can be handed over.`);
    const onYield = this.#yieldable.get(youngest);
    this.#yieldable.delete(youngest);
    this.#leaving.add(youngest);
    this.parked++;
    youngest.lose();
    onYield?.();
  }

  free(lane: LaneName): void {
    this.#tell({ kind: "freed", ...lane });
  }

  /** Resolves with a slot, or without one when the signal is aborted. */
  async wait(lane: LaneName, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return new Promise((resolve) => {
      const waiting = {
        lane,
        resume() {
          signal.removeEventListener("abort", giveUp);
          resolve(true);
        },
      };
      const giveUp = () => {
        this.#waiting.delete(waiting);
        resolve(false);
        this.#tell({ kind: "gave_up", ...lane });
      };
      this.#waiting.add(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#tell({ kind: "wants_slot", ...lane });
    });
  }

  /** @param onYield undefined when the job can't be handed over any more */
  setYield(slot: JobSlot, onYield: (() => void) | undefined): void {
    if (this.#yieldable.has(slot) === (onYield !== undefined)) return;
    if (onYield) this.#yieldable.set(slot, onYield);
    else this.#yieldable.delete(slot);
    this.#tellYieldable(slot.lane.tenant);
  }

  /** A job that had lost its slot does not run any more. */
  left(slot: JobSlot): void {
    this.#leaving.delete(slot);
    this.#tellYieldable(slot.lane.tenant);
  }

  #tellYieldable(tenant: TenantId): void {
    const countIn = (slots: Iterable<JobSlot>) =>
      [...slots].filter(({ lane }) => lane.tenant === tenant).length;
    const jobs = countIn(this.#leaving) > 0 ? 0 : countIn(this.#yieldable.keys());
    this.#tell({ kind: "yieldable", tenant, jobs });
  }
}

/** The slot of one running job, which may be without it for a while. */
export class JobSlot {
  readonly #slots: JobSlots;
  readonly lane: LaneName;
  /** The later a job of this process has begun, the higher. */
  readonly number: number;
  #state: "held" | "lost" | "parked" | "ended" = "held";

  constructor(slots: JobSlots, lane: LaneName, number: number) {
    this.#slots = slots;
    this.lane = lane;
    this.number = number;
  }

  park(): void {
    if (this.#state === "lost") {
      this.#state = "parked";
      this.#slots.left(this);
    }
    if (this.#state !== "held" || this.#slots.isCrowded) return;
    this.#state = "parked";
    this.#slots.parked++;
    this.#slots.setYield(this, undefined);
    this.#slots.free(this.lane);
  }

  async unpark(signal: AbortSignal): Promise<void> {
    if (this.#state !== "parked" || !(await this.#slots.wait(this.lane, signal))) return;
    if (this.#hasEnded) return this.#slots.free(this.lane);
    this.#state = "held";
    this.#slots.parked--;
  }

  /** Another job has the slot now; this one is told once, and is to end. Without `onYield` it keeps its slot. */
  setYield(onYield: (() => void) | undefined): void {
    if (this.#state === "held" && this.lane.priority === "batch") this.#slots.setYield(this, onYield);
  }

  lose(): void {
    this.#state = "lost";
  }

  /** True if another job has the slot, and this one still runs. */
  get isLost(): boolean {
    return this.#state === "lost";
  }

  get isParked(): boolean {
    return this.#state === "parked";
  }

  get #hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** The job has ended. */
  end(): void {
    const state = this.#state;
    this.#state = "ended";
    if (state === "parked" || state === "lost") this.#slots.parked--;
    if (state === "lost") this.#slots.left(this);
    if (state !== "held") return;
    this.#slots.setYield(this, undefined);
    this.#slots.free(this.lane);
  }
}
