import type { Msg, NatsConnection } from "@nats-io/transport-node";
import type { TenantId } from "@reprise/protocol";
import { JobSlots } from "./job-slots.ts";
import { LanePulls } from "./lane-pulls.ts";
import { type SharingInput, SlotSharing } from "./slot-sharing.ts";

/** Memory for the requests of running jobs. */
interface RequestMemory {
  readonly free: number;
  hasRoomFor(tenant: TenantId): boolean;
}

export interface SharedSlotsOptions {
  connection: NatsConnection;
  model: string;
  slots: number;
  reserve: number;
  memory: RequestMemory;
  ackWaitMs: number;
  /** One job, inside the connection's read loop: it has to be short. */
  onJob: (msg: Msg) => void;
  /** Called at each input, with the time that jobs have had slots since the one before, summed over slots. */
  onSlotTime?: ((ms: number) => void) | undefined;
  onError: (error: unknown) => void;
}

/** Performs what `SlotSharing` decides: makes pulls, resumes parked jobs, and hands over slots of batch jobs. */
export class SharedSlots {
  /** The jobs here that have a slot, or want one again. Each change is an input. */
  readonly jobs = new JobSlots((input) => void this.next(input));
  readonly pulls: LanePulls;
  readonly #sharing: SlotSharing;
  readonly #memory: RequestMemory;
  readonly #onSlotTime: SharedSlotsOptions["onSlotTime"];
  #used = 0;
  #countedAtMs = performance.now();

  constructor({ slots, reserve, memory, onSlotTime, ...pulls }: SharedSlotsOptions) {
    this.#sharing = new SlotSharing({ slots, reserve });
    this.#memory = memory;
    this.#onSlotTime = onSlotTime;
    this.pulls = new LanePulls({
      ...pulls,
      onEnded: (lane, reason) => void this.next({ kind: "ended", ...lane, reason }),
    });
  }

  /** Slots that jobs have now. */
  get used(): number {
    return this.#used;
  }

  /** The slots that tenants have here. */
  running(): Map<TenantId, number> {
    return this.#sharing.running();
  }

  /** @returns the decision for a job that has come; undefined when the input was no job */
  next(input: SharingInput): "run" | "give_back" | undefined {
    const now = performance.now();
    if (this.#used > 0) this.#onSlotTime?.((now - this.#countedAtMs) * this.#used);
    const effects = this.#sharing.next(input, now, {
      ...this.pulls.room(this.#memory.free),
      isFor: (tenant) => this.#memory.hasRoomFor(tenant),
    });
    this.#countedAtMs = now;
    this.#used = sumOf(this.#sharing.running().values());
    this.pulls.make(effects.pulls, this.#memory.free);
    for (const tenant of effects.yields) this.jobs.takeFrom(tenant);
    for (const lane of effects.resumed) this.jobs.resume(lane);
    return effects.job;
  }
}

function sumOf(counts: Iterable<number>): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}
