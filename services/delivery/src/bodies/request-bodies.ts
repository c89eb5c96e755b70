import type { IncomingMessage, ServerResponse } from "node:http";
import { LIMITS, RepriseError } from "@reprise/protocol";
import { ByteBudget, type Reservation } from "./byte-budget.ts";
import { FairQueue, NO_REST } from "./fair-queue.ts";
import { bodyLengthOf, hasLeft } from "../connections/http2.ts";
import { LARGE_BYTES, PacedReading } from "./paced-reading.ts";

/** Reads of earlier turns that a node makes at a time: each may bring `eventBytes` and the events of a generation. */
const READS = 8;
/** A call may wait for seconds while it has its place, for an end that is not there yet. What one tenant waits for leaves the others places. */
const READS_OF_TENANT = 3;

export interface RequestBodiesOptions {
  /** Bytes of request bodies that this process works on at a time, of all tenants together. */
  maxBytes: number;
  onRefused: () => void;
}

/** The largest body: one of that size at a time, or several smaller ones. */
const LARGE_BYTES_AT_A_TIME = LIMITS.bodyBytes;
/** Range of the retry delay. Clients refused at the same moment come back spread over it: even a refusal costs CPU time. */
const RETRY_AFTER_MS = { least: 1_000, most: 5_000 } as const;

interface HeldBody {
  readonly tenant: string;
  readonly parts: Reservation[];
  /** Reservation for what the call has read in addition to its body, while that is kept. */
  beside?: Reservation;
  /** It is in memory, whether or not its client is there: it waits for its turn, or its call works on it. */
  isInUse: boolean;
  hasLeft: boolean;
}

/**
 * The bodies that this process has in memory, from before their first byte until the call that they belong to is done with them. Neither
 * a client that leaves early nor one that does not read its answer changes that.
 */
export class RequestBodies {
  readonly #budget: ByteBudget;
  readonly #large = new FairQueue(LARGE_BYTES_AT_A_TIME);
  readonly #reads = new FairQueue(READS, { load: NO_REST, maxOfTenant: READS_OF_TENANT });
  readonly #pace = new PacedReading((next) => void setImmediate(next));
  readonly #onRefused: () => void;
  readonly #held = new WeakMap<IncomingMessage, HeldBody>();

  constructor({ maxBytes, onRefused }: RequestBodiesOptions) {
    this.#budget = new ByteBudget(maxBytes);
    this.#onRefused = onRefused;
  }

  /** Bytes that are reserved now. */
  get bytes(): number {
    return this.#budget.held;
  }

  /**
   * Takes a body on, before it is read. What does not say how long it is counts as the longest that there may be.
   * @throws RepriseError `body_too_large`; `connection_lost`, when its client has left already; `overloaded`, when the tenant has its share of others under way
   */
  admit(request: IncomingMessage, response: ServerResponse, tenant: string): void {
    const bytes = bodyLengthOf(request) ?? LIMITS.bodyBytes;
    if (bytes === 0) return;
    if (bytes > LIMITS.bodyBytes)
      throw new RepriseError("body_too_large", `The body is larger than ${LIMITS.bodyBytes} bytes.`, {
        param: "body",
      });
    // No `close` comes any more that would give its bytes back.
    if (hasLeft(response))
      throw new RepriseError("connection_lost", "The client left before its body was read.");
    const reserved = this.#reserve(tenant, bytes);
    if (bytes > LARGE_BYTES) this.#pace.add(request);
    this.#held.set(request, { tenant, parts: [reserved], isInUse: false, hasLeft: false });
    response.once("close", () => this.#leave(request));
  }

  /**
   * Resolves when a body that has been read may be parsed, with false where its client has left meanwhile: it is to be dropped then.
   * Undefined where it may be parsed at once.
   * @throws RepriseError `overloaded`, when its turn has not come in time: those before it wait for the broker
   */
  turn(request: IncomingMessage, length: number): Promise<boolean> | undefined {
    const held = this.#held.get(request);
    if (length <= LARGE_BYTES || !held) return undefined;
    held.isInUse = true;
    return this.#large.enter(held.tenant, length).then((place) => {
      if (!place) {
        this.release(request);
        throw this.#refused("Too many large requests wait for their turn.");
      }
      held.parts.push(place);
      held.isInUse = false;
      if (held.hasLeft) this.release(request);
      return !held.hasLeft;
    });
  }

  /**
   * Reads data of unknown size that a call needs in addition to its body. A few calls of this process read at a time, fewer of each tenant, in turn, and each
   * with room for the maximum size. The bytes kept stay reserved with the body, or until the call reads again, which replaces them.
   * @param read returns what it has read, and its size in bytes: `eventBytes` at most
   * @throws RepriseError `overloaded` if the turn has not come in time or the tenant has used its share; what `read` throws
   */
  async read<Value>(
    [request, tenant]: readonly [IncomingMessage, string],
    read: () => Promise<{ readonly value: Value; readonly bytes: number }>,
  ): Promise<Value> {
    const place = await this.#reads.enter(tenant, 1);
    if (!place) throw this.#refused("Too many conversations are read at once.");
    try {
      const whole = this.#reserve(tenant, LIMITS.eventBytes);
      try {
        const { value, bytes } = await read();
        whole.release();
        const held = this.#held.get(request);
        held?.beside?.release();
        if (held) held.beside = this.#reserve(tenant, bytes);
        return value;
      } finally {
        whole.release();
      }
    } finally {
      place.release();
    }
  }

  /** For the call that works on a body: its bytes stay reserved until this is disposed of, or the body is released. */
  keep(request: IncomingMessage): Disposable {
    const held = this.#held.get(request);
    if (held) held.isInUse = true;
    return { [Symbol.dispose]: () => this.release(request) };
  }

  /** Releases the body. The call no longer needs it, though its answer may still be in progress. */
  release(request: IncomingMessage): void {
    const held = this.#held.get(request);
    this.#held.delete(request);
    for (const part of held?.parts ?? []) part.release();
    held?.beside?.release();
  }

  #reserve(tenant: string, bytes: number): Reservation {
    const reserved = this.#budget.reserve(tenant, bytes);
    if (reserved) return reserved;
    throw this.#refused("Too many bytes of requests with keys of this tenant are under way.");
  }

  #refused(message: string): RepriseError {
    this.#onRefused();
    return new RepriseError("overloaded", message, { retryAfterMs: retryAfterMs() });
  }

  #leave(request: IncomingMessage): void {
    const held = this.#held.get(request);
    if (!held) return;
    held.hasLeft = true;
    if (!held.isInUse) this.release(request);
  }
}

function retryAfterMs(): number {
  const { least, most } = RETRY_AFTER_MS;
  return least + Math.random() * (most - least);
}
