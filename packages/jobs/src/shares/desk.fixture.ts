import type { LaneName, Priority, TenantId } from "@reprise/protocol";
import { type PullEffect, type SharingInput, SlotSharing } from "./slot-sharing.ts";
import type { TenantShare } from "./tenant-share.ts";

const UNLIMITED = Number.POSITIVE_INFINITY;
export const ROOM = { now: UNLIMITED, waiting: UNLIMITED, isFor: () => true };

export interface SetUp {
  slots: number;
  reserve?: number;
  shares?: Partial<Record<TenantId, Partial<TenantShare>>>;
  /** True if batch jobs can be handed over. Default true. */
  canYield?: boolean;
}

interface HowQueued {
  readonly priority?: Priority;
  readonly isHeard?: boolean;
}

interface BrokerLane {
  /** Shares in the headers of its queued jobs. */
  readonly queued: (TenantShare | undefined)[];
  /** Number of jobs that a pull waits for. */
  waiting: number;
}

/** A worker and a broker with lanes, without the time between them: what is under way comes when it is told to. */
export class Desk {
  readonly sharing: SlotSharing;
  /** The jobs that have a slot, by age; those that have let go of theirs; and those that want one again. */
  readonly jobs: LaneName[] = [];
  readonly parked: LaneName[] = [];
  readonly wanting: LaneName[] = [];
  readonly #lanes = new Map<string, BrokerLane>();
  /** Shares in the tenants' records. */
  readonly #shares: Partial<Record<TenantId, Partial<TenantShare>>>;
  /** The newest share of each tenant that the worker was told. */
  readonly #told = new Map<TenantId, TenantShare>();
  /** Answers of the broker that have not arrived, in order. */
  readonly #answers: SharingInput[] = [];
  readonly #canYield: boolean;
  #streamSeq = 0;
  #changes = 0;
  nowMs = 0;

  constructor({ slots, reserve = 0, shares = {}, canYield = true }: SetUp) {
    this.#canYield = canYield;
    this.#shares = shares;
    this.sharing = new SlotSharing({ slots, reserve });
  }

  /** The tenants of the jobs that have a slot. */
  get running(): TenantId[] {
    return this.jobs.map(({ tenant }) => tenant);
  }

  runningOf(tenant: TenantId, priority?: Priority): number {
    return this.jobs.filter((job) => job.tenant === tenant && (!priority || job.priority === priority))
      .length;
  }

  queuedOf(tenant: TenantId, priority: Priority = "interactive"): number {
    return this.#lane({ tenant, priority }).queued.length;
  }

  /** Number of jobs that the lane's waiting pull asks for. */
  waitingAt(tenant: TenantId, priority: Priority = "interactive"): number {
    return this.#lane({ tenant, priority }).waiting;
  }

  shareOf(tenant: TenantId): TenantShare {
    return { weight: 1, maxRunning: UNLIMITED, ...this.#shares[tenant] };
  }

  toldShareOf(tenant: TenantId): TenantShare {
    return this.#told.get(tenant) ?? { weight: 1, maxRunning: UNLIMITED };
  }

  change(tenant: TenantId, share: TenantShare): void {
    this.#shares[tenant] = { ...share, storedAtUs: ++this.#changes };
  }

  /** The broker ends the lane's waiting pull, for reasons of its own. */
  cut(tenant: TenantId, priority: Priority = "interactive"): void {
    const lane = this.#lane({ tenant, priority });
    if (!lane.waiting) return;
    lane.waiting = 0;
    this.tell({ kind: "ended", tenant, priority, reason: "cut" });
  }

  queue(tenant: TenantId, jobs = 1, { priority, isHeard = true }: HowQueued = {}): void {
    const name: LaneName = { tenant, priority: priority ?? "interactive" };
    const share = this.shareOf(tenant);
    for (let i = 0; i < jobs; i++) {
      this.#lane(name).queued.push(share);
      this.#handOut(name, this.#lane(name).waiting);
      if (isHeard) this.#answers.push({ kind: "heard", ...name, streamSeq: ++this.#streamSeq, share });
    }
  }

  /** The job at this place ends. */
  end(at: number): void {
    const job = this.#take(this.jobs, at);
    if (job) this.#free(job);
  }

  /** The job at this place lets go of its slot. */
  park(at: number): void {
    const job = this.#take(this.jobs, at);
    if (!job) return;
    this.parked.push(job);
    this.#free(job);
  }

  /** The parked job at this place wants a slot again. */
  wake(at: number): void {
    const job = this.#take(this.parked, at);
    if (!job) return;
    this.wanting.push(job);
    this.tell({ kind: "wants_slot", ...job });
  }

  list(): void {
    const lanes = Array.from(this.#lanes, ([name, { queued }]) => {
      const { tenant, priority } = JSON.parse(name) as LaneName;
      const jobs = queued.length + this.runningOf(tenant, priority);
      return { tenant, priority, jobs };
    });
    this.tell({ kind: "listed", lanes });
  }

  tell(input: SharingInput): void {
    if ("share" in input && input.share) this.#learn(input.tenant, input.share);
    const { job, pulls, resumed, yields } = this.sharing.next(input, this.nowMs, ROOM);
    for (const tenant of yields) this.#yield(tenant);
    if (input.kind === "job") {
      const { tenant, priority, share } = input;
      if (job === "run") this.jobs.push({ tenant, priority });
      else this.#giveBack({ tenant, priority }, share);
    }
    for (const { tenant, priority } of resumed) {
      const at = this.wanting.findIndex((one) => one.tenant === tenant && one.priority === priority);
      this.jobs.push(...this.wanting.splice(at, 1));
    }
    for (const pull of pulls) this.#pull(pull);
    // Told last, as the worker tells it once a batch job has begun.
    if (job === "run" || resumed.length > 0) this.#tellYieldable();
  }

  /** Lets the next answer arrive. Returns whether there was one. */
  arrive(): boolean {
    const answer = this.#answers.shift();
    if (answer) this.tell(answer);
    return answer !== undefined;
  }

  settle(): void {
    while (this.arrive());
  }

  #take(jobs: LaneName[], at: number): LaneName | undefined {
    return jobs.splice(at % Math.max(1, jobs.length), 1)[0];
  }

  #free(job: LaneName): void {
    if (job.priority === "batch") this.#tellYieldable();
    this.tell({ kind: "freed", ...job });
  }

  #tellYieldable(): void {
    if (!this.#canYield) return;
    for (const tenant of new Set(this.running))
      this.tell({ kind: "yieldable", tenant, jobs: this.runningOf(tenant, "batch") });
  }

  #yield(tenant: TenantId): void {
    const at = this.jobs.findLastIndex((job) => job.tenant === tenant && job.priority === "batch");
    const [job] = this.jobs.splice(at, 1);
    if (at < 0 || !job) throw new Error(`No batch job of tenant "${tenant}" runs.`);
    this.#giveBack(job, undefined);
    this.#answers.push({ kind: "heard", ...job });
  }

  #giveBack(name: LaneName, share: TenantShare | undefined): void {
    this.#lane(name).queued.unshift(share);
    this.#handOut(name, this.#lane(name).waiting);
  }

  #lane({ tenant, priority }: LaneName): BrokerLane {
    const name = JSON.stringify({ tenant, priority });
    const lane = this.#lanes.get(name) ?? { queued: [], waiting: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  #learn(tenant: TenantId, share: TenantShare): void {
    if ((share.storedAtUs ?? 0) >= (this.toldShareOf(tenant).storedAtUs ?? 0)) this.#told.set(tenant, share);
  }

  #pull({ kind, tenant, priority, batch }: PullEffect): void {
    const name = { tenant, priority };
    const left = this.#handOut(name, batch);
    if (kind === "now" && left > 0) this.#answers.push({ kind: "ended", ...name, reason: "empty" });
    this.#lane(name).waiting = kind === "waiting" ? left : 0;
  }

  #handOut(name: LaneName, asked: number): number {
    const lane = this.#lane(name);
    const shares = lane.queued.splice(0, asked);
    shares.forEach((share, i) => {
      const pending = lane.queued.length + shares.length - 1 - i;
      this.#answers.push({ kind: "job", ...name, streamSeq: 0, pending, share });
    });
    lane.waiting = asked - shares.length;
    return lane.waiting;
  }
}
