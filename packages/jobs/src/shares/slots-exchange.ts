import { randomUUID } from "node:crypto";
import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { slotsSubject, type TenantId } from "@reprise/protocol";
import { subscribeGuarded } from "@reprise/broker";
import { formatAnnouncement, parseAnnouncement } from "./slots-announcement.ts";

/** The slots of a model that other workers have, and which tenants hold how many of them. */
export interface OtherSlots {
  readonly slots: number;
  readonly running: ReadonlyMap<TenantId, number>;
}

export interface SlotsExchangeOptions {
  connection: NatsConnection;
  model: string;
  slots: () => number;
  /** The slots that tenants have here. */
  running: () => ReadonlyMap<TenantId, number>;
  /** Jobs that this process has, parked ones included. */
  held: () => number;
  /** Capabilities of the model's engine here. Default: not announced. */
  capabilities?: (() => readonly string[]) | undefined;
  /** Number of tokens that the model takes here. Default: not announced. */
  contextTokens?: (() => number | undefined) | undefined;
  onOthers: (others: OtherSlots) => void;
  /** A worker has fallen silent: its jobs come back after their ack wait. */
  onGone: () => void;
  onError: (error: unknown) => void;
}

interface OtherWorker extends OtherSlots {
  readonly heardAtMs: number;
}

/** At most so often a worker says what has changed. */
const CHANGES_MS = 200;
export const REPEAT_MS = 3_000;
/** A worker that has not been heard for so long is gone. */
export const GONE_MS = 7_000;

/** The workers of a model tell each other what their tenants have, so that all of them together share their slots fairly. A message that is lost costs seconds. */
export class SlotsExchange {
  readonly #options: SlotsExchangeOptions;
  readonly #worker = randomUUID();
  readonly #others = new Map<string, OtherWorker>();
  readonly #subscription: Subscription;
  readonly #timer: NodeJS.Timeout;
  #said = "";
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SlotsExchangeOptions) {
    const { connection, model, onError } = options;
    this.#options = options;
    const onMessage = (msg: Msg) => this.#receive(msg);
    this.#subscription = subscribeGuarded(connection, slotsSubject(model), { onMessage, onError });
    this.#timer = setInterval(() => this.#tick(), CHANGES_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    const { connection } = this.#options;
    if (connection.isClosed() || connection.isDraining()) return;
    this.#subscription.unsubscribe();
    this.#publish({ slots: 0, running: new Map() });
  }

  #tick(): void {
    const { connection } = this.#options;
    if (connection.isClosed() || connection.isDraining()) return;
    const nowMs = performance.now();
    const { slots, running } = this.#options;
    const now = { slots: slots(), running: running() };
    // Totals change all the time, and are no reason to say something.
    const text = JSON.stringify([now.slots, ...now.running]);
    if (text !== this.#said || nowMs - this.#saidAtMs >= REPEAT_MS) {
      this.#publish(now);
      this.#said = text;
      this.#saidAtMs = nowMs;
    }
    this.#forget(nowMs);
  }

  #publish(now: OtherSlots): void {
    const { connection, model, held, capabilities, contextTokens } = this.#options;
    const announcement = formatAnnouncement({
      worker: this.#worker,
      ...now,
      held: held(),
      capabilities: capabilities?.(),
      contextTokens: contextTokens?.(),
    });
    connection.publish(slotsSubject(model), announcement);
  }

  #receive(msg: Msg): void {
    const announcement = parseAnnouncement(msg.string());
    if (!announcement || announcement.worker === this.#worker) return;
    const { worker, slots, running } = announcement;
    if (slots > 0 || running.size > 0)
      this.#others.set(worker, { slots, running, heardAtMs: performance.now() });
    else this.#others.delete(worker);
    this.#tell();
  }

  #forget(nowMs: number): void {
    const before = this.#others.size;
    for (const [worker, { heardAtMs }] of this.#others)
      if (nowMs - heardAtMs > GONE_MS) this.#others.delete(worker);
    if (this.#others.size === before) return;
    this.#tell();
    this.#options.onGone();
  }

  #tell(): void {
    const total = new Map<TenantId, number>();
    let slots = 0;
    for (const other of this.#others.values()) {
      slots += other.slots;
      for (const [tenant, running] of other.running) total.set(tenant, (total.get(tenant) ?? 0) + running);
    }
    this.#options.onOthers({ slots, running: total });
  }
}
