import type { TenantId } from "@reprise/protocol";
import { EQUAL_SHARE, type TenantShare } from "./tenant-share.ts";

/*
 * Which tenant's job comes next. A tenant's part of a model's queue is a lane, and the broker hands out jobs of one lane at a time, so a worker
 * decides whose job it pulls, in two ways:
 * - A `now` pull is answered at once, with jobs or with none. It is made for a tenant that is known to have jobs, and its slots are
 *   reserved until the answer comes.
 * - A `waiting` pull stays at the broker, so that a job is handed out the moment it is stored. It is made for tenants that had jobs lately and
 *   are not known to have any, for slots that no known job wants. It reserves nothing: a job that comes when the slot has another
 *   job is given back. So each lane has few of them.
 *
 * Slots are shared by max-min fairness: of the tenants with jobs the one with the fewest slots for its weight gets the next one. What counts is
 * the slots that its jobs hold, not how many it has had: ten long generations are no turn like ten short ones.
 */

export type PullKind = "now" | "waiting";

interface SharedJob {
  readonly tenant: TenantId;
  /** What the tenant may have since the job was queued. */
  readonly share?: TenantShare | undefined;
}

export type SharingInput =
  /** A job can be pulled. Without its place in the stream where a worker has given it back. */
  | ({ readonly kind: "heard"; readonly streamSeq?: number | undefined } & SharedJob)
  /** How many jobs each tenant has in the queue, those that run included. */
  | { readonly kind: "listed"; readonly jobs: ReadonlyMap<TenantId, number> }
  /** A lane's pull has brought a job; `pending` more were in the lane then. Answered with `run` or `give_back`. */
  | ({ readonly kind: "job"; readonly streamSeq: number; readonly pending: number } & SharedJob)
  /** A lane's pull has brought what is no job. */
  | { readonly kind: "void"; readonly tenant: TenantId }
  /** A lane's pull has ended before it has brought all jobs that it asked for. */
  | { readonly kind: "ended"; readonly tenant: TenantId; readonly reason: PullEndReason }
  /** A job has ended, or lets go of its slot for a while. */
  | { readonly kind: "freed"; readonly tenant: TenantId }
  /** A job that had let go of its slot has one again. */
  | { readonly kind: "occupied"; readonly tenant: TenantId }
  /** The same, and it has the slot that another job frees. */
  | { readonly kind: "passed"; readonly from: TenantId; readonly to: TenantId }
  /** What the other workers of the model have. */
  | { readonly kind: "others"; readonly slots: number; readonly running: ReadonlyMap<TenantId, number> }
  /** The broker is back, and may have lost the end of its stream: the next jobs may have the places of earlier ones. */
  | { readonly kind: "reconnected" }
  /** There is room for more pulls. */
  | { readonly kind: "room" }
  /** A second has passed. */
  | { readonly kind: "renewed" };

/**
 * Why a pull ends before it has brought all jobs that it asked for. `empty`: its lane has no more. `cut`: for reasons of its own, and it may be made
 * again at once. `unavailable`: it would end in the same way again; the next renewal is soon enough.
 */
export type PullEndReason = "empty" | "cut" | "unavailable";

export interface PullEffect {
  readonly kind: PullKind;
  readonly tenant: TenantId;
  readonly batch: number;
}

export interface SharingEffects {
  /** What becomes of the job that has come; undefined when the input was none. */
  readonly job: "run" | "give_back" | undefined;
  readonly pulls: readonly PullEffect[];
}

/** How many pulls of each kind there is room for now, in bytes. A pull that is decided on is made. */
export type PullRoom = Readonly<Record<PullKind, number>>;

export interface SharingOptions {
  readonly slots: number;
  /** So many of the last free slots are not for tenants that have their share or more: others that were active lately need not wait. */
  readonly reserve: number;
}

interface Lane {
  readonly tenant: TenantId;
  /** By the job whose tenant's record is the newest. */
  share: TenantShare;
  running: number;
  elsewhere: number;
  /** Jobs known to wait, an estimate: an empty lane puts it right. */
  known: number;
  /** The newest job heard of, and the newest that came here or is known to be gone. */
  heardSeq: number;
  seenSeq: number;
  /** How many jobs are asked for. A lane has one pull at a time: a job does not say which pull it is for. */
  pull: { readonly kind: PullKind; readonly heardSeq: number; left: number } | undefined;
  /** No pull is made before the next renewal. */
  isResting: boolean;
  /** When a job of it was last heard of, and whether an answer without jobs came so soon after that it is asked again. */
  heardAtMs: number;
  isDoubted: boolean;
  activeAtMs: number;
  /** When its last slot was given, in slots given. */
  servedAt: number;
}

/**
 * For so long after a hint an answer without jobs does not count. The broker says that a job is stored, or given back, before the lane's consumer
 * knows of it, which in a cluster may be led by another server.
 */
const HINT_AHEAD_MS = 2_000;
/** How long a tenant counts as active behind its last job: it takes part in the shares, and pulls wait for its next job. */
const ACTIVE_MS = 300_000;
/** A waiting pull asks for so many jobs at most, and there are waiting pulls for so many lanes. */
const MAX_WAITING = 8;
const MAX_WAITING_LANES = 8;

/** The slots of one model in one worker, and what is known of its lanes. Time and room are arguments; nothing is sent. */
export class SlotSharing {
  readonly #options: SharingOptions;
  readonly #lanes = new Map<TenantId, Lane>();
  #taken = 0;
  #reserved = 0;
  #otherSlots = 0;
  #given = 0;
  /** Of all lanes, where it has been needed since the last input. */
  #weights: number | undefined;

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /** The slots that tenants have here. */
  running(): Map<TenantId, number> {
    const held = [...this.#lanes.values()].filter(({ running }) => running > 0);
    return new Map(held.map(({ tenant, running }) => [tenant, running]));
  }

  next(input: SharingInput, nowMs: number, room: PullRoom): SharingEffects {
    this.#weights = undefined;
    const job = this.#apply(input, nowMs);
    return { job, pulls: this.#plan(nowMs, room) };
  }

  #apply(input: SharingInput, nowMs: number): SharingEffects["job"] {
    switch (input.kind) {
      case "job":
        return this.#receive(input, nowMs);
      case "heard":
        hear(this.#lane(input.tenant, nowMs), input, nowMs);
        break;
      case "listed":
        for (const [tenant, jobs] of input.jobs) {
          const lane = this.#lane(tenant, nowMs);
          lane.known = Math.max(lane.known, jobs - lane.running);
        }
        break;
      case "ended":
        this.#end(this.#lane(input.tenant), input.reason, nowMs);
        break;
      case "void":
        this.#answer(this.#lane(input.tenant), 1);
        break;
      case "freed":
        this.#lane(input.tenant).running--;
        this.#taken--;
        break;
      case "occupied":
        this.#lane(input.tenant, nowMs).running++;
        this.#taken++;
        break;
      case "passed":
        this.#lane(input.from).running--;
        this.#lane(input.to, nowMs).running++;
        break;
      case "others":
        this.#otherSlots = input.slots;
        for (const lane of this.#lanes.values()) lane.elsewhere = 0;
        for (const [tenant, running] of input.running) this.#lane(tenant, nowMs).elsewhere = running;
        break;
      case "renewed":
        this.#renew(nowMs);
        break;
      case "reconnected":
        for (const lane of this.#lanes.values()) forgetPlaces(lane);
        break;
      case "room":
        break;
    }
    return undefined;
  }

  #receive(
    { tenant, streamSeq, pending, share }: Extract<SharingInput, { kind: "job" }>,
    nowMs: number,
  ): "run" | "give_back" {
    const lane = this.#lane(tenant, nowMs);
    const isReserved = lane.pull?.kind === "now";
    this.#answer(lane, 1);
    lane.seenSeq = Math.max(lane.seenSeq, streamSeq);
    learnShare(lane, share);
    // What was given back to the broker is not in `pending`.
    lane.known = Math.max(pending, lane.known - 1);
    // What a reserved slot is for may have been asked for before the tenant's cap was known.
    const isBelowCap = lane.running + lane.elsewhere < lane.share.maxRunning;
    const isGranted = isReserved ? isBelowCap && this.#taken < this.#options.slots : this.#mayHave(lane);
    if (!isGranted) {
      lane.known++;
      return "give_back";
    }
    lane.running++;
    this.#taken++;
    lane.servedAt = ++this.#given;
    return "run";
  }

  #end(lane: Lane, reason: PullEndReason, nowMs: number): void {
    const { pull } = lane;
    if (!pull) return;
    this.#answer(lane, pull.left);
    if (reason === "unavailable") lane.isResting = true;
    if (reason !== "empty") return forgetPlaces(lane);
    lane.known = 0;
    lane.isDoubted = nowMs - lane.heardAtMs < HINT_AHEAD_MS;
    // A job that was stored behind a pull may be heard of before the answer to the pull.
    lane.seenSeq = Math.max(lane.seenSeq, pull.kind === "now" ? pull.heardSeq : lane.heardSeq);
  }

  #answer(lane: Lane, jobs: number): void {
    const { pull } = lane;
    if (!pull) return;
    pull.left -= jobs;
    if (pull.kind === "now") this.#reserved -= jobs;
    if (pull.left === 0) lane.pull = undefined;
  }

  #plan(nowMs: number, room: PullRoom): PullEffect[] {
    const now = this.#planNow(room.now);
    return [...now, ...this.#planWaiting(nowMs, room.waiting - now.length)];
  }

  /** A slot for each job that is known, of the tenant first that has the fewest for its weight. */
  #planNow(room: number): PullEffect[] {
    const planned = new Set<Lane>();
    while (this.#free > 0) {
      const lane = this.#poorest((one) => planned.has(one) || (!one.pull && planned.size < room));
      if (!lane) break;
      const { heardSeq } = lane;
      lane.pull = { kind: "now", heardSeq, left: (lane.pull?.left ?? 0) + 1 };
      lane.servedAt = ++this.#given;
      this.#reserved++;
      planned.add(lane);
    }
    return [...planned].map(({ tenant, pull }) => ({ kind: "now", tenant, batch: pull!.left }));
  }

  #planWaiting(nowMs: number, room: number): PullEffect[] {
    if (this.#free <= 0 || room <= 0) return [];
    const lanes = [...this.#lanes.values()]
      .filter((lane) => isActive(lane, nowMs) && this.#mayHave(lane))
      .toSorted((one, other) => other.activeAtMs - one.activeAtMs)
      .slice(0, MAX_WAITING_LANES);
    const each = Math.min(MAX_WAITING, Math.ceil(this.#free / lanes.length));
    const pulls = lanes
      .filter(({ pull, isResting }) => !pull && !isResting)
      .slice(0, room)
      .map((lane): PullEffect => {
        const { tenant, heardSeq } = lane;
        const batch = Math.min(each, lane.share.maxRunning - used(lane));
        lane.pull = { kind: "waiting", heardSeq, left: batch };
        return { kind: "waiting", tenant, batch };
      });
    return pulls;
  }

  /** Of the lanes with jobs whose tenant may have one more slot, the one whose tenant has the fewest for its weight. */
  #poorest(isPossible: (lane: Lane) => boolean): Lane | undefined {
    let best: { lane: Lane; slots: number } | undefined;
    for (const lane of this.#lanes.values()) {
      if (!hasJobs(lane) || !isPossible(lane) || !this.#mayHave(lane)) continue;
      const slots = used(lane) / lane.share.weight;
      const isPoorer =
        !best || slots < best.slots || (slots === best.slots && lane.servedAt < best.lane.servedAt);
      if (isPoorer) best = { lane, slots };
    }
    return best?.lane;
  }

  /** Whether a tenant may have one more slot. */
  #mayHave(lane: Lane): boolean {
    const { reserve } = this.#options;
    if (this.#free <= 0 || used(lane) >= lane.share.maxRunning) return false;
    return this.#free > reserve || used(lane) < this.#shareOf(lane);
  }

  /** A tenant's part of the slots of all workers, among the tenants that were active lately. */
  #shareOf(lane: Lane): number {
    const { slots } = this.#options;
    this.#weights ??= [...this.#lanes.values()].reduce((sum, { share }) => sum + share.weight, 0);
    return ((slots + this.#otherSlots) * lane.share.weight) / this.#weights;
  }

  get #free(): number {
    return this.#options.slots - this.#taken - this.#reserved;
  }

  /** @param activeAtMs when the tenant has just been active */
  #lane(tenant: TenantId, activeAtMs = Number.NEGATIVE_INFINITY): Lane {
    const lane = this.#lanes.get(tenant) ?? createLane(tenant);
    this.#lanes.set(tenant, lane);
    lane.activeAtMs = Math.max(lane.activeAtMs, activeAtMs);
    return lane;
  }

  #renew(nowMs: number): void {
    for (const lane of this.#lanes.values()) {
      lane.isResting = false;
      if (lane.isDoubted) lane.known = Math.max(lane.known, 1);
      lane.isDoubted = false;
      const isIdle = used(lane) === 0 && !lane.pull && !hasJobs(lane);
      if (isIdle && !isActive(lane, nowMs)) this.#lanes.delete(lane.tenant);
    }
  }
}

function createLane(tenant: TenantId): Lane {
  return {
    tenant,
    share: EQUAL_SHARE,
    running: 0,
    elsewhere: 0,
    known: 0,
    heardSeq: 0,
    seenSeq: 0,
    pull: undefined,
    isResting: false,
    heardAtMs: Number.NEGATIVE_INFINITY,
    isDoubted: false,
    activeAtMs: Number.NEGATIVE_INFINITY,
    servedAt: 0,
  };
}

function hear(
  lane: Lane,
  { streamSeq, share }: Extract<SharingInput, { kind: "heard" }>,
  nowMs: number,
): void {
  lane.heardAtMs = nowMs;
  if (streamSeq === undefined) {
    lane.known++;
    return;
  }
  lane.heardSeq = Math.max(lane.heardSeq, streamSeq);
  learnShare(lane, share);
}

function learnShare(lane: Lane, share: TenantShare | undefined): void {
  if (share && (share.storedAtUs ?? 0) >= (lane.share.storedAtUs ?? 0)) lane.share = share;
}

/** What was heard of is still there, as far as is known. */
function forgetPlaces(lane: Lane): void {
  if (lane.heardSeq > lane.seenSeq) lane.known = Math.max(lane.known, 1);
  lane.heardSeq = 0;
  lane.seenSeq = 0;
}

/** The slots that a tenant has, or will have if its pull brings what it is for. */
function used({ running, elsewhere, pull }: Lane): number {
  return running + elsewhere + (pull?.kind === "now" ? pull.left : 0);
}

/** Whether one more job is worth asking for. While a pull waits for the lane's jobs, the broker hands them out by itself. */
function hasJobs({ known, heardSeq, seenSeq, pull, isResting }: Lane): boolean {
  if (isResting || pull?.kind === "waiting") return false;
  const asked = pull?.left ?? 0;
  return known > asked || (heardSeq > seenSeq && asked === 0);
}

function isActive({ activeAtMs }: Lane, nowMs: number): boolean {
  return nowMs - activeAtMs < ACTIVE_MS;
}
