import type { LaneName, TenantId } from "@reprise/protocol";
import {
  answerPull,
  endPull,
  forgetPlaces,
  hasJobs,
  hear,
  type Lane,
  type PullEndReason,
  type PullKind,
  renewLane,
  reservedFor,
} from "./lane.ts";
import { isActive, TenantSlots } from "./tenant-slots.ts";
import type { TenantShare } from "./tenant-share.ts";

/*
 * Which job gets the next slot. The broker hands out jobs of one lane at a time, so a worker decides whose job it pulls, in two ways:
 * - A `now` pull is answered at once, with jobs or with none. It is made for a lane that is known to have jobs, and its slots are
 *   reserved until the answer comes.
 * - A `waiting` pull stays at the broker, so that a job is handed out the moment it is stored. It is made for lanes that had jobs lately and
 *   are not known to have any, for slots that no known job wants. It reserves nothing: a job that comes when the slot has another
 *   job is given back. So each lane has few of them.
 *
 * Slots are shared by max-min fairness: of the tenants with jobs the one with the fewest slots for its weight gets the next one. What counts is
 * the slots that its jobs hold, not how many it has had: ten long generations are no turn like ten short ones. Within a tenant, interactive jobs
 * come before batch jobs, and of one priority those that resume come before those in the queue.
 *
 * An interactive job for which there is no slot takes that of a batch job that can be handed over: of its own tenant, or of one that has at least
 * as many slots for its weight as the job's tenant will have.
 */

interface OfTenant {
  readonly tenant: TenantId;
}

interface WithShare {
  /** The tenant's share as of when the job was queued. */
  readonly share?: TenantShare | undefined;
}

export type SharingInput =
  /** A job can be pulled. Without its place in the stream where a worker has given it back. */
  | ({ readonly kind: "heard"; readonly streamSeq?: number | undefined } & LaneName & WithShare)
  /** Number of jobs that each lane has in the queue, including running ones. */
  | { readonly kind: "listed"; readonly lanes: readonly (LaneName & { readonly jobs: number })[] }
  /** A lane's pull has brought a job; `pending` more were in the lane then. Answered with `run` or `give_back`. */
  | ({ readonly kind: "job"; readonly streamSeq: number; readonly pending: number } & LaneName & WithShare)
  /** A lane's pull has brought what is no job. */
  | ({ readonly kind: "void" } & LaneName)
  /** A lane's pull has ended before it has brought all jobs that it asked for. */
  | ({ readonly kind: "ended"; readonly reason: PullEndReason } & LaneName)
  /** A job has ended, or lets go of its slot for a while. */
  | ({ readonly kind: "freed" } & LaneName)
  /** A job that had let go of its slot wants one again, until it is resumed or has given up. */
  | ({ readonly kind: "wants_slot" } & LaneName)
  | ({ readonly kind: "gave_up" } & LaneName)
  /** The number of batch jobs of a tenant that can be handed over now: none while one that has lost its slot still runs. */
  | ({ readonly kind: "yieldable"; readonly jobs: number } & OfTenant)
  /** Slots and running jobs of the model's other workers. */
  | { readonly kind: "others"; readonly slots: number; readonly running: ReadonlyMap<TenantId, number> }
  /** The broker is back, and may have lost the end of its stream: the next jobs may have the places of earlier ones. */
  | { readonly kind: "reconnected" }
  /** There is room for more pulls. */
  | { readonly kind: "room" }
  /** A second has passed. */
  | { readonly kind: "renewed" }
  /** No more jobs are pulled. Those that are here still share the slots. */
  | { readonly kind: "stopped" };

export interface PullEffect extends LaneName {
  readonly kind: PullKind;
  readonly batch: number;
}

export interface SharingEffects {
  /** The decision for a job that has come; undefined when the input was no job. */
  readonly job: "run" | "give_back" | undefined;
  readonly pulls: readonly PullEffect[];
  /** In each of these lanes one of the jobs that want a slot has one. */
  readonly resumed: readonly LaneName[];
  /** One batch job of each of these tenants has to be handed over: another job has its slot. */
  readonly yields: readonly TenantId[];
}

/** Number of pulls of each kind that fit into the free memory now, and the tenants that have room. Every planned pull is made. */
export interface PullRoom extends Readonly<Record<PullKind, number>> {
  readonly isFor: (tenant: TenantId) => boolean;
}

export interface SharingOptions {
  readonly slots: number;
  /** That number of the last free slots is not for tenants that have their share or more: others that were active lately need not wait. */
  readonly reserve: number;
}

/** A job of a lane that can have a slot: a free one, or that of another tenant's or its own batch job. */
interface Claim {
  readonly owner: TenantSlots;
  readonly lane: Lane;
  readonly victim: TenantSlots | undefined;
}

/** Maximum jobs that a waiting pull asks for, and maximum lanes with a waiting pull: `LanePulls` has no room for more. */
const MAX_WAITING = 8;
const MAX_WAITING_LANES = 5;

/** The slots of one model in one worker, and what is known of its lanes. Time and room are arguments; nothing is sent. */
export class SlotSharing {
  readonly #options: SharingOptions;
  readonly #tenants = new Map<TenantId, TenantSlots>();
  #taken = 0;
  #reserved = 0;
  #otherSlots = 0;
  #given = 0;
  #isStopped = false;
  /** Sum over all tenants; undefined until it is needed after the last input. */
  #weights: number | undefined;
  #yields: TenantId[] = [];

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /** The slots that tenants have here. */
  running(): Map<TenantId, number> {
    const held = [...this.#tenants.values()].filter(({ running }) => running > 0);
    return new Map(held.map(({ tenant, running }) => [tenant, running]));
  }

  next(input: SharingInput, nowMs: number, room: PullRoom): SharingEffects {
    this.#weights = undefined;
    this.#yields = [];
    const job = this.#apply(input, nowMs);
    const { resumed, pulls } = this.#serve(room);
    const waiting = this.#planWaiting(nowMs, room, room.waiting - pulls.length);
    return { job, resumed, pulls: [...pulls, ...waiting], yields: this.#yields };
  }

  #apply(input: SharingInput, nowMs: number): SharingEffects["job"] {
    switch (input.kind) {
      case "job":
        return this.#receive(input, nowMs);
      case "heard":
        this.#activeOwner(input, nowMs).learn(input.share);
        hear(this.#lane(input), input.streamSeq, nowMs);
        break;
      case "listed":
        for (const listed of input.lanes) {
          this.#activeOwner(listed, nowMs);
          const lane = this.#lane(listed);
          lane.known = Math.max(lane.known, listed.jobs - lane.running);
        }
        break;
      case "ended": {
        const lane = this.#lane(input);
        this.#reserved -= reservedFor(lane);
        endPull(lane, input.reason, nowMs);
        break;
      }
      case "void":
        this.#answer(this.#lane(input));
        break;
      case "freed":
        this.#lane(input).running--;
        this.#taken--;
        break;
      case "wants_slot":
        this.#activeOwner(input, nowMs);
        this.#lane(input).resuming++;
        break;
      case "gave_up":
        this.#lane(input).resuming--;
        break;
      case "yieldable":
        this.#owner(input.tenant).yieldable = input.jobs;
        break;
      case "others":
        this.#otherSlots = input.slots;
        for (const owner of this.#tenants.values()) owner.elsewhere = 0;
        for (const [tenant, running] of input.running) {
          const owner = this.#owner(tenant);
          owner.elsewhere = running;
          owner.activeAtMs = nowMs;
        }
        break;
      case "renewed":
        this.#renew(nowMs);
        break;
      case "reconnected":
        for (const { lanes } of this.#tenants.values()) lanes.forEach(forgetPlaces);
        break;
      case "stopped":
        this.#isStopped = true;
        this.#reserved = 0;
        for (const { lanes } of this.#tenants.values()) for (const lane of lanes) lane.pull = undefined;
        break;
      case "room":
        break;
    }
    return undefined;
  }

  #receive(input: Extract<SharingInput, { kind: "job" }>, nowMs: number): "run" | "give_back" {
    const owner = this.#activeOwner(input, nowMs);
    const lane = this.#lane(input);
    this.#answer(lane);
    lane.seenSeq = Math.max(lane.seenSeq, input.streamSeq);
    owner.learn(input.share);
    // What was given back to the broker is not in `pending`.
    lane.known = Math.max(input.pending, lane.known - 1);
    const claim = this.#isStopped ? undefined : this.#claimSlot(owner, lane);
    if (!claim) {
      lane.known++;
      return "give_back";
    }
    this.#give(claim);
    return "run";
  }

  #answer(lane: Lane): void {
    if (lane.pull?.kind === "now") this.#reserved--;
    answerPull(lane, 1);
  }

  /** Gives slots to jobs that are here and want one again, and asks for jobs that are known: of the tenant first that has the fewest slots for its weight. */
  #serve(room: PullRoom): { readonly resumed: LaneName[]; readonly pulls: PullEffect[] } {
    const resumed: LaneName[] = [];
    const asked = new Map<Lane, TenantSlots>();
    for (let claim = this.#nextClaim(asked, room); claim; claim = this.#nextClaim(asked, room)) {
      const { owner, lane } = claim;
      if (lane.resuming > 0) {
        lane.resuming--;
        this.#give(claim);
        resumed.push({ tenant: owner.tenant, priority: lane.priority });
      } else {
        this.#ask(claim);
        asked.set(lane, owner);
      }
    }
    const pulls = Array.from(asked, ([{ priority, pull }, { tenant }]): PullEffect => {
      return { kind: "now", tenant, priority, batch: pull?.left ?? 0 };
    });
    return { resumed, pulls };
  }

  #give({ owner, lane, victim }: Claim): void {
    lane.running++;
    owner.servedAt = ++this.#given;
    if (!victim) {
      this.#taken++;
      return;
    }
    victim.batch.running--;
    // Until that job has ended, which is told, one generation more than there are slots runs: of each tenant no second one.
    victim.yieldable = 0;
    this.#yields.push(victim.tenant);
  }

  /** A job that is to have another one's slot takes it when it is here: until then the other one may end, and other workers may have been faster. */
  #ask({ owner, lane }: Claim): void {
    const { heardSeq } = lane;
    lane.pull = { kind: "now", heardSeq, left: (lane.pull?.left ?? 0) + 1 };
    owner.servedAt = ++this.#given;
    this.#reserved++;
  }

  #planWaiting(nowMs: number, room: PullRoom, most: number): PullEffect[] {
    const isFull = this.#free <= 0 && !this.#canAnyYield;
    if (this.#isStopped || isFull || most <= 0) return [];
    const lanes = this.#activeLanes(nowMs);
    const each = Math.min(MAX_WAITING, Math.max(1, Math.ceil(this.#free / lanes.length)));
    return lanes
      .filter(({ owner, lane }) => !lane.pull && !lane.isResting && room.isFor(owner.tenant))
      .slice(0, most)
      .map(({ owner, lane, victim }): PullEffect => {
        const batch = victim ? 1 : Math.min(each, owner.share.maxRunning - owner.used);
        lane.pull = { kind: "waiting", heardSeq: lane.heardSeq, left: batch };
        return { kind: "waiting", tenant: owner.tenant, priority: lane.priority, batch };
      });
  }

  /** The lanes that had jobs lately and whose next job can have a slot, the latest first. */
  #activeLanes(nowMs: number): Claim[] {
    const claims: Claim[] = [];
    for (const owner of this.#tenants.values())
      for (const lane of owner.lanes) {
        const claim = isActive(lane, nowMs) ? this.#claimSlot(owner, lane) : undefined;
        if (claim) claims.push(claim);
      }
    return claims
      .toSorted((one, other) => other.lane.activeAtMs - one.lane.activeAtMs)
      .slice(0, MAX_WAITING_LANES);
  }

  /** Returns the job of the tenant with the fewest slots for its weight, of those with jobs that can have a slot. */
  #nextClaim(asked: ReadonlyMap<Lane, TenantSlots>, room: PullRoom): Claim | undefined {
    let best: { claim: Claim; slots: number } | undefined;
    for (const owner of this.#tenants.values()) {
      const slots = owner.used / owner.share.weight;
      const isPoorer =
        !best || slots < best.slots || (slots === best.slots && owner.servedAt < best.claim.owner.servedAt);
      const claim = isPoorer ? this.#claimOf(owner, asked, room) : undefined;
      if (claim) best = { claim, slots };
    }
    return best?.claim;
  }

  #claimOf(owner: TenantSlots, asked: ReadonlyMap<Lane, TenantSlots>, room: PullRoom): Claim | undefined {
    const isRoom = !this.#isStopped && room.isFor(owner.tenant);
    for (const lane of owner.lanes) {
      const isAsked = asked.has(lane);
      const canAsk = isRoom && hasJobs(lane) && (isAsked || (!lane.pull && asked.size < room.now));
      if (lane.resuming === 0 && !canAsk) continue;
      const claim = this.#claimSlot(owner, lane);
      // A pull asks for any number of jobs for free slots, and for one at a time that is to have another one's.
      if (claim && (!isAsked || lane.resuming > 0 || !claim.victim)) return claim;
    }
    return undefined;
  }

  #claimSlot(owner: TenantSlots, lane: Lane): Claim | undefined {
    if (this.#mayHave(owner)) return { owner, lane, victim: undefined };
    const victim = lane.priority === "interactive" ? this.#victimFor(owner) : undefined;
    return victim && { owner, lane, victim };
  }

  /** True if a tenant may have one more slot that is free. */
  #mayHave(owner: TenantSlots): boolean {
    const { reserve } = this.#options;
    if (this.#free <= 0 || !owner.isBelowCap) return false;
    return this.#free > reserve || owner.used < this.#shareOf(owner);
  }

  /** The tenant whose batch job hands its slot to a tenant's interactive job. */
  #victimFor(owner: TenantSlots): TenantSlots | undefined {
    if (owner.yieldable > 0) return owner;
    if (!owner.isBelowCap || !this.#canAnyYield) return undefined;
    let most = (owner.used + 1) / owner.share.weight;
    let victim: TenantSlots | undefined;
    for (const other of this.#tenants.values()) {
      const slots = other.used / other.share.weight;
      if (other.yieldable === 0 || slots < most) continue;
      most = slots;
      victim = other;
    }
    return victim;
  }

  /** A tenant's part of the slots of all workers, among the tenants that were active lately. */
  #shareOf({ share }: TenantSlots): number {
    const { slots } = this.#options;
    this.#weights ??= [...this.#tenants.values()].reduce((sum, { share: { weight } }) => sum + weight, 0);
    return ((slots + this.#otherSlots) * share.weight) / this.#weights;
  }

  get #free(): number {
    return this.#options.slots - this.#taken - this.#reserved;
  }

  get #canAnyYield(): boolean {
    return this.#tenants.values().some(({ yieldable }) => yieldable > 0);
  }

  #owner(tenant: TenantId): TenantSlots {
    const owner = this.#tenants.get(tenant) ?? new TenantSlots(tenant);
    this.#tenants.set(tenant, owner);
    return owner;
  }

  #lane({ tenant, priority }: LaneName): Lane {
    return this.#owner(tenant).lane(priority);
  }

  #activeOwner({ tenant, priority }: LaneName, nowMs: number): TenantSlots {
    const owner = this.#owner(tenant);
    owner.activeAtMs = nowMs;
    owner.lane(priority).activeAtMs = nowMs;
    return owner;
  }

  #renew(nowMs: number): void {
    for (const owner of this.#tenants.values()) {
      owner.lanes.forEach(renewLane);
      if (owner.isGone(nowMs)) this.#tenants.delete(owner.tenant);
    }
  }
}
