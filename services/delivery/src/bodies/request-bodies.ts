import type { IncomingMessage, ServerResponse } from "node:http";
import { LIMITS, RepriseError } from "@reprise/protocol";
import { ByteBudget, type Reservation } from "./byte-budget.ts";
import { FairQueue } from "./fair-queue.ts";
import { bodyLengthOf } from "../connections/http2.ts";
import { LARGE_BYTES, PacedReading } from "./paced-reading.ts";

export interface RequestBodiesOptions {
  /** Bytes of request bodies that this process works on at a time, of all tenants together. */
  maxBytes: number;
  onRefused: () => void;
}

/** As large as the largest body: one of those, or several smaller ones. */
const LARGE_BYTES_AT_A_TIME = LIMITS.bodyBytes;
/** What is refused in one moment comes back over so long, and not all at once: even a refusal costs. */
const RETRY_AFTER_MS = { least: 1_000, most: 5_000 } as const;

interface HeldBody {
  readonly tenant: string;
  readonly parts: Reservation[];
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
   * @throws RepriseError `body_too_large`; `overloaded`, when the tenant has its share of others under way
   */
  admit(request: IncomingMessage, response: ServerResponse, tenant: string): void {
    const bytes = bodyLengthOf(request) ?? LIMITS.bodyBytes;
    if (bytes === 0) return;
    if (bytes > LIMITS.bodyBytes)
      throw new RepriseError("body_too_large", `The body is larger than ${LIMITS.bodyBytes} bytes.`, {
        param: "body",
      });
    const reserved = this.#budget.reserve(tenant, bytes);
    if (!reserved) {
      this.#onRefused();
      const message = "Too many bytes of requests with keys of this tenant are under way.";
      throw new RepriseError("overloaded", message, { retryAfterMs: retryAfterMs() });
    }
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
        this.#onRefused();
        throw new RepriseError("overloaded", "Too many large requests wait for their turn.", {
          retryAfterMs: retryAfterMs(),
        });
      }
      held.parts.push(place);
      held.isInUse = false;
      if (held.hasLeft) this.release(request);
      return !held.hasLeft;
    });
  }

  /** For the call that works on a body: its bytes stay reserved until this is disposed of, or the body is released. */
  keep(request: IncomingMessage): Disposable {
    const held = this.#held.get(request);
    if (held) held.isInUse = true;
    return { [Symbol.dispose]: () => this.release(request) };
  }

  /** The call is done with the body, though its answer may go on. */
  release(request: IncomingMessage): void {
    const held = this.#held.get(request);
    this.#held.delete(request);
    for (const part of held?.parts ?? []) part.release();
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
