import { openJobs } from "@reprise/jobs";
import type { Broker } from "@reprise/broker";
import {
  EXTERNAL_MODEL,
  type GenerationRef,
  type OutputAppend,
  type OutputEntry,
  producerSubject,
  RepriseError,
  type RequestedEvent,
} from "@reprise/protocol";
import { announceEnd, type GenerationLog, subscribeYieldRequests } from "@reprise/stream";
import { type RateState, type StreamTokens, TOKEN_LIMITS } from "@reprise/tenancy";
import { takeBytes } from "../limits/take-bytes.ts";
import { type OutputState, ProducerLog } from "./producer-log.ts";

export interface ProducerPorts {
  readonly broker: Pick<Broker, "main" | "bulk">;
  readonly log: GenerationLog;
  readonly tokens: Pick<StreamTokens, "mint">;
  readonly onError: (error: unknown) => void;
  /** Bytes of the open logs together. Default 64 MiB. */
  readonly maxBytes?: number;
}

/** The right to write a generation's output, as its producer gets it. */
export interface ProducerGrant {
  /** A stream token with the scope `produce`, for this generation. Absent for a caller that has one. */
  readonly token?: string;
  readonly expires_at?: string;
  readonly epoch: number;
  /** Tells the epoch from another one with its number: a store that has lost its end may get one. */
  readonly nonce: string;
  /** The number of the next entry. */
  readonly next: number;
  /** Length of the text that is stored and counts, in UTF-16 code units. */
  readonly text_length: number;
  /** A producer that is silent for longer, in milliseconds, is lost. */
  readonly silence_ms: number;
}

/** Generations that a node keeps open, and the bytes of their logs together. One that is closed is opened again by a read of its log. */
const MAX_OPEN = 1_024;
const MAX_BYTES = 64 * 1_024 * 1_024;
const HEARD = new TextEncoder().encode("{}");

/** Writes the output of generations without a worker, for all connections of a node. */
export class Producers implements Disposable {
  readonly #ports: ProducerPorts;
  readonly #maxBytes: number;
  readonly #open = new Map<string, ProducerLog>();
  readonly #yieldRequests: { unsubscribe(): void };

  constructor(ports: ProducerPorts) {
    const { broker, maxBytes = MAX_BYTES, onError } = ports;
    this.#ports = ports;
    this.#maxBytes = maxBytes;
    this.#yieldRequests = subscribeYieldRequests(broker.main, {
      onRequest: (ref) => this.#open.get(keyOf(ref))?.yield(),
      onError,
    });
  }

  [Symbol.dispose](): void {
    this.#yieldRequests.unsubscribe();
  }

  /**
   * Makes the caller the generation's producer, in the place of an earlier one.
   * @param options `mint`: false for a caller with a token, which would outlive itself by another one. Default true
   * @throws RepriseError as `ProducerLog.claim`
   */
  async claim(
    ref: GenerationRef,
    { rewind = false, mint = true }: { rewind?: boolean | undefined; mint?: boolean } = {},
  ): Promise<ProducerGrant> {
    const { textLength, silenceMs, ...claimed } = await this.#with(ref, (log) => log.claim(rewind));
    return {
      ...(mint && (await this.#mint(ref))),
      ...claimed,
      text_length: textLength,
      silence_ms: silenceMs,
    };
  }

  async #mint({ tenant, generation }: GenerationRef): Promise<Pick<ProducerGrant, "token" | "expires_at">> {
    const ttlSeconds = TOKEN_LIMITS.lifeSeconds;
    const asked = { tenant, generation, scopes: ["produce"], ttlSeconds } as const;
    const { token, expiresAtMs } = await this.#ports.tokens.mint(asked);
    return { token, expires_at: new Date(expiresAtMs).toISOString() };
  }

  /**
   * Stores entries, those that are not stored yet. Without entries it says that the producer lives.
   * @throws RepriseError as `ProducerLog.append`; `limit_exceeded` when the producer has to wait
   */
  async append(ref: GenerationRef, output: OutputAppend): Promise<OutputState> {
    const state = await this.#with(ref, (log) => log.append(output));
    if (output.entries.length === 0 && state.ended === undefined) await this.#heard(ref);
    return state;
  }

  async #heard(ref: GenerationRef): Promise<void> {
    const { kind } = await this.#ports.log.publish(producerSubject(ref), HEARD, {});
    if (kind === "stored") return;
    throw new RepriseError("broker_unavailable", "The broker does not store that the producer lives.", {
      retryAfterMs: 1_000,
    });
  }

  async #with<T>(ref: GenerationRef, call: (log: ProducerLog) => Promise<T>): Promise<T> {
    const key = keyOf(ref);
    const log = this.#open.get(key) ?? this.#openLog(ref);
    // The last one used is the last to be closed.
    this.#open.delete(key);
    this.#open.set(key, log);
    try {
      return await call(log);
    } finally {
      // Calls about generations that do not exist take no place.
      if (log.bytes === 0) this.#open.delete(key);
      this.#closeOthers(key);
    }
  }

  /** Closes the logs that were not used for longest, until the rest keeps to the limits. */
  #closeOthers(used: string): void {
    let bytes = this.#open.values().reduce((sum, log) => sum + log.bytes, 0);
    for (const [key, log] of this.#open) {
      if (this.#open.size <= MAX_OPEN && bytes <= this.#maxBytes) break;
      if (key === used) continue;
      bytes -= log.bytes;
      this.#open.delete(key);
    }
  }

  #openLog(ref: GenerationRef): ProducerLog {
    let rate: RateState | undefined;
    const admit = (entries: readonly OutputEntry[]) =>
      void (rate = takeBytes("output.bytes_per_second", rate, bytesOf(entries)));
    const onEnded: ConstructorParameters<typeof ProducerLog>[0]["onEnded"] = (requested, usage) => {
      announceEnd(this.#ports.broker.main, ref, usage);
      this.#open.delete(keyOf(ref));
      void this.#removeJob(ref, requested).catch(this.#ports.onError);
    };
    return new ProducerLog({ log: this.#ports.log, ref, admit, onEnded });
  }

  /** A reaper does so too, a minute later. */
  async #removeJob(ref: GenerationRef, { request: { priority } }: RequestedEvent): Promise<void> {
    const { broker } = this.#ports;
    const named = { ref, model: EXTERNAL_MODEL, priority: priority ?? "interactive" } as const;
    const job = await openJobs.readJob(broker.bulk, named);
    if (job) await openJobs.deleteJob(broker.main, job);
  }
}

function keyOf({ tenant, generation }: GenerationRef): string {
  return `${tenant}.${generation}`;
}

function bytesOf(entries: readonly OutputEntry[]): number {
  return entries.reduce((sum, entry) => sum + Buffer.byteLength(JSON.stringify(entry)), 0);
}
