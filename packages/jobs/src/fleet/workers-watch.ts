import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { pause } from "@reprise/async";
import { parseSlotsSubject, SLOTS_SUBJECTS } from "@reprise/protocol";
import { watchConnection, subscribeGuarded } from "@reprise/broker";
import { parseAnnouncement, type SlotsAnnouncement } from "../shares/slots-announcement.ts";
import { GONE_MS, REPEAT_MS } from "../shares/slots-exchange.ts";

/** The workers of a model, as they announce themselves. */
export interface ModelWorkers {
  readonly workers: number;
  /** Jobs that workers have, parked ones included. */
  readonly held: number;
}

export interface WorkersWatchOptions {
  connection: NatsConnection;
  /** Called for malformed subjects. */
  onError: (error: unknown) => void;
}

interface HeardWorker extends SlotsAnnouncement {
  readonly heardAtMs: number;
}

/** After its announcement a worker is heard again within this time, as long as no message is lost. */
const HEARD_MS = REPEAT_MS + 500;
/** Limit for all models together: beyond it, announcements of further workers are ignored. */
const MAX_WORKERS = 20_000;

const NO_WORKERS: ModelWorkers = { workers: 0, held: 0 };

/** Hears what workers tell each other of their slots, of all models. */
export class WorkersWatch {
  readonly #connection: NatsConnection;
  readonly #subscription: Subscription;
  readonly #models = new Map<string, Map<string, HeardWorker>>();
  #sinceMs = performance.now();
  #known = 0;

  constructor({ connection, onError }: WorkersWatchOptions) {
    this.#connection = connection;
    const onMessage = (msg: Msg) => this.#receive(msg, performance.now());
    watchConnection(connection, { onUp: () => (this.#sinceMs = performance.now()) });
    this.#subscription = subscribeGuarded(connection, SLOTS_SUBJECTS, { onMessage, onError });
  }

  /** True if this process has listened for long enough, since its start or its last reconnect, to have heard every worker. */
  get isComplete(): boolean {
    return performance.now() - this.#sinceMs > HEARD_MS;
  }

  read(model: string): ModelWorkers {
    const found = this.#models.get(model);
    if (!found) return NO_WORKERS;
    const nowMs = performance.now();
    this.#forget(found, nowMs);
    let [workers, held] = [0, 0];
    for (const one of found.values()) {
      if (one.slots > 0) workers++;
      held += one.held ?? [...one.running.values()].reduce((sum, count) => sum + count, 0);
    }
    return { workers, held };
  }

  /** Capabilities that each worker of the model announces for its engine; undefined for a worker of a version that does not announce any. */
  capabilitiesOf(model: string): (readonly string[] | undefined)[] {
    return this.#present(model).map(({ capabilities }) => capabilities);
  }

  /** Number of tokens that the model takes at each of its workers that announce it: the minimum, because it is not known which worker gets a job. */
  contextTokensOf(model: string): number | undefined {
    const told = this.#present(model).flatMap(({ contextTokens }) => contextTokens ?? []);
    return told.length > 0 ? Math.min(...told) : undefined;
  }

  /** Resolves when every worker has been heard, or the signal is aborted. */
  async untilComplete(signal: AbortSignal): Promise<void> {
    while (!this.isComplete && !signal.aborted) {
      await pause(Math.max(1, HEARD_MS - (performance.now() - this.#sinceMs)), signal);
    }
  }

  stop(): void {
    if (!this.#connection.isClosed()) this.#subscription.unsubscribe();
  }

  #present(model: string): HeardWorker[] {
    const nowMs = performance.now();
    const heard = [...(this.#models.get(model)?.values() ?? [])];
    return heard.filter(({ slots, heardAtMs }) => slots > 0 && nowMs - heardAtMs <= GONE_MS);
  }

  #receive(msg: Msg, nowMs: number): void {
    const announcement = parseAnnouncement(msg.string());
    if (!announcement) return;
    const name = parseSlotsSubject(msg.subject);
    const workers = this.#models.get(name) ?? new Map<string, HeardWorker>();
    this.#models.set(name, workers);
    if (!workers.has(announcement.worker) && ++this.#known > MAX_WORKERS) return void this.#known--;
    workers.set(announcement.worker, { ...announcement, heardAtMs: nowMs });
  }

  #forget(workers: Map<string, HeardWorker>, nowMs: number): void {
    for (const [worker, { heardAtMs }] of workers) {
      if (nowMs - heardAtMs <= GONE_MS) continue;
      workers.delete(worker);
      this.#known--;
    }
  }
}
