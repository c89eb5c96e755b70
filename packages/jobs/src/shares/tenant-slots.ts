import type { Priority, TenantId } from "@reprise/protocol";
import { createLane, isIdle, type Lane, reservedFor } from "./lane.ts";
import { EQUAL_SHARE, type TenantShare } from "./tenant-share.ts";

/** Milliseconds for which a tenant counts as active after its last job: it takes part in the shares, and pulls wait for its next job. */
const ACTIVE_MS = 300_000;

/** A tenant's lanes in a model's queue, and its slots. */
export class TenantSlots {
  readonly tenant: TenantId;
  readonly interactive = createLane("interactive");
  readonly batch = createLane("batch");
  /** By the job whose tenant's record is the newest. */
  share: TenantShare = EQUAL_SHARE;
  /** Slots at other workers. */
  elsewhere = 0;
  /** Its batch jobs here that can be handed over now. */
  yieldable = 0;
  activeAtMs = Number.NEGATIVE_INFINITY;
  /** When its last slot was given, in slots given. */
  servedAt = 0;

  constructor(tenant: TenantId) {
    this.tenant = tenant;
  }

  /** In the order in which they are served. */
  get lanes(): readonly [Lane, Lane] {
    return [this.interactive, this.batch];
  }

  lane(priority: Priority): Lane {
    return priority === "batch" ? this.batch : this.interactive;
  }

  get running(): number {
    return this.interactive.running + this.batch.running;
  }

  /** The slots that the tenant has, or will have if its pulls bring what they are for. */
  get used(): number {
    return this.running + this.elsewhere + reservedFor(this.interactive) + reservedFor(this.batch);
  }

  get isBelowCap(): boolean {
    return this.used < this.share.maxRunning;
  }

  learn(share: TenantShare | undefined): void {
    if (share && (share.storedAtUs ?? 0) >= (this.share.storedAtUs ?? 0)) this.share = share;
  }

  /** Nothing has to be remembered of it. */
  isGone(nowMs: number): boolean {
    return this.used === 0 && this.lanes.every(isIdle) && !isActive(this, nowMs);
  }
}

export function isActive({ activeAtMs }: { readonly activeAtMs: number }, nowMs: number): boolean {
  return nowMs - activeAtMs < ACTIVE_MS;
}
