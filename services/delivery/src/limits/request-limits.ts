import { randomUUID } from "node:crypto";
import { type GenerationId, type GenerationRef, LIMITS, RepriseError, type Usage } from "@reprise/protocol";
import {
  type Counters,
  type Decision,
  HeldLeases,
  type LeaseCheck,
  type LimitCheck,
  type LimitUse,
  type Principal,
  type RateCheck,
  toLimitChecks,
  toRateLimitHeaders,
} from "@reprise/tenancy";
import type { FastifyReply, FastifyRequest } from "fastify";
import { bodyLengthOf, hasLeft } from "../connections/http2.ts";
import { countedAddress } from "../http/counted-address.ts";
import { HeldGenerations, type HeldGenerationsOptions } from "./held-generations.ts";

export interface RequestLimitsOptions {
  counters: Counters;
  /** Says which generations have ended, should that not be announced. */
  reader: HeldGenerationsOptions["reader"];
  /** Milliseconds between two checks. Default 60 s. */
  checkMs?: number | undefined;
  /** Called with the name of the limit that refused a call. */
  onRefused: (limit: string) => void;
  onError: (error: unknown) => void;
}

export interface CreateUse {
  /** Whom the generation is for, where the request says so. */
  readonly endUser: string | undefined;
  /** The generation to create; undefined where one is joined. */
  readonly generation: GenerationId | undefined;
  readonly tokens: number;
  /** True if the answer is the stream. */
  readonly isStream: boolean;
}

export type Call = readonly [FastifyRequest, FastifyReply];

/** Tokens that a generation without `max_output_tokens` reserves. */
const DEFAULT_RESERVATION = 1_024;

/** Generations whose reservations are remembered; beyond that the oldest is settled as if it had used what it reserved. */
const MAX_RESERVATIONS = 100_000;

/** Refusals that a node remembers; beyond that it forgets the oldest. */
const MAX_REFUSALS = 10_000;

/** A limit on requests that is used up. */
interface UsedUp {
  readonly limit: number;
  readonly untilMs: number;
}

/** Reservation of a generation that this node created, held until it has ended. */
interface Reservation {
  readonly checks: readonly RateCheck[];
  readonly units: number;
}

/**
 * Counts calls against their tenant's limits, and ends what they hold. A call is one round trip to the counters, and none where the
 * tenant has no limit that it touches; an event costs nothing.
 */
export class RequestLimits implements AsyncDisposable {
  readonly #options: RequestLimitsOptions;
  readonly #held: HeldLeases;
  readonly #generations: HeldGenerations;
  /** For each call, the counters that count it as one. */
  readonly #counted = new WeakMap<FastifyRequest, Set<string>>();
  readonly #reservations = new Map<string, Reservation>();
  /** By the counter's key. Until then the counters would refuse every request. */
  readonly #usedUp = new Map<string, UsedUp>();

  constructor(options: RequestLimitsOptions) {
    this.#options = options;
    this.#held = new HeldLeases(options.counters, { onError: options.onError });
    this.#generations = new HeldGenerations({
      reader: options.reader,
      everyMs: options.checkMs,
      onEnded: (ref, usage) => this.ended(ref, usage),
      onError: options.onError,
    });
  }

  /** Generations and streams that hold a share of a limit. */
  get held(): number {
    return this.#held.size;
  }

  /** Returns true if a call was counted, or refused. */
  isCounted(request: FastifyRequest): boolean {
    return this.#counted.has(request);
  }

  /**
   * Counts a call and its other uses, all or nothing, and sets the answer's headers to the state of its limits. A call that is counted again for its actual
   * use is still one call, except in the counters of an end user that was not known before.
   * @throws RepriseError `limit_exceeded` with the limit's name; `invalid_request` if the call asks for more than the limit ever grants
   */
  async count([request, reply]: Call, principal: Principal, use: LimitUse = {}): Promise<void> {
    const counted = this.#counted.get(request) ?? new Set();
    this.#counted.set(request, counted);
    const own = { requests: 1, requestBytes: bodyBytesOf(request), ...use };
    const checks = this.#checksOf(request, principal, own).map((check) =>
      check.kind === "rate" && counted.has(check.key) ? { ...check, cost: 0 } : check,
    );
    if (checks.length === 0) return;
    const decision = await this.#options.counters.take(checks);
    void reply.headers({ ...toRateLimitHeaders(decision) });
    if (decision.refused) throw this.#remember(decision.refused);
    for (const { name, key } of checks)
      if (name.endsWith(REQUESTS) || name.endsWith(REQUEST_BYTES)) counted.add(key);
    const { reader } = use;
    if (reader !== undefined) {
      const leases = checks.filter(isLease);
      this.#held.keep(
        reader,
        leases.filter(({ member }) => member === reader),
      );
      // The client may have left while the counters were asked: then no `close` comes any more.
      if (hasLeft(reply.raw)) this.#held.release(reader);
      else reply.raw.once("close", () => this.#held.release(reader));
    }
    this.#keep(checks, use);
  }

  /**
   * Refuses a call whose limit on requests is known to be used up, before its body is read.
   * @throws RepriseError `limit_exceeded`
   */
  assertNotUsedUp(request: FastifyRequest, principal: Principal): void {
    if (this.#usedUp.size === 0) return;
    const nowMs = performance.now();
    for (const check of this.#checksOf(request, principal, { requests: 1 })) {
      const usedUp = this.#usedUp.get(check.key);
      if (!usedUp) continue;
      if (usedUp.limit === check.limit && usedUp.untilMs > nowMs)
        // Its answer's `count` tells `onRefused`.
        throw toRefusal({ check, retryAfterMs: usedUp.untilMs - nowMs });
      this.#usedUp.delete(check.key);
    }
  }

  /** Holds what a new generation takes until it has ended. */
  #keep(checks: readonly LimitCheck[], { generation, tokens: units = 0 }: LimitUse): void {
    if (generation === undefined) return;
    this.#held.keep(
      generation,
      checks.filter(isLease).filter(({ member }) => member === generation),
    );
    const tokens = checks.filter(isRate).filter(({ name }) => name.endsWith(TOKENS));
    if (tokens.length > 0) this.#reserve(generation, tokens, units);
  }

  /** Counts a reader; a stream holds its share until its answer has ended. */
  async attach(
    [request, reply]: Call,
    principal: Principal,
    { isStream, waits }: { isStream: boolean; waits: boolean },
  ): Promise<void> {
    await this.count([request, reply], principal, {
      replayBytes: 0,
      ...((isStream || waits) && { attaches: 1 }),
      ...(isStream && { reader: randomUUID() }),
    });
  }

  /**
   * Counts a create: of a new generation what it may use, of one that is joined the call alone.
   * @param call undefined for a generation of the platform's own, which is no call
   */
  async create(
    call: Call | undefined,
    caller: Principal,
    { endUser = caller.endUser, generation, tokens, isStream }: CreateUse,
  ): Promise<void> {
    const principal = { ...caller, endUser };
    const use: LimitUse = {
      ...(isStream && { attaches: 1, reader: randomUUID() }),
      // One that is joined has events to replay.
      ...(generation === undefined ? isStream && { replayBytes: 0 } : { generation, tokens }),
    };
    if (call) await this.count(call, principal, use);
    else {
      const checks = this.#checksOf(undefined, principal, use);
      if (checks.length === 0) return;
      const { refused } = await this.#options.counters.take(checks);
      if (refused) throw this.#refusal(refused);
      this.#keep(checks, use);
    }
    if (generation !== undefined && this.#held.has(generation))
      this.#generations.add({ tenant: principal.tenant, generation });
  }

  /** A create has found that another one with the same Idempotency-Key was first, whose reservation stays: its own is given back. */
  joined({ generation }: GenerationRef, tokens: number): void {
    const reservation = this.#reservations.get(generation);
    if (!reservation) return;
    const units = reservation.units - tokens;
    if (units > 0) this.#reservations.set(generation, { ...reservation, units });
    else this.#reservations.delete(generation);
    this.#settle(reservation.checks, -tokens);
  }

  /** A create that was counted has failed, and nothing of its generation is stored. */
  abandoned(ref: GenerationRef, tokens: number): void {
    this.joined(ref, tokens);
    if (this.#generations.abandon(ref)) this.#held.release(ref.generation);
  }

  /** Counts what a reader is replayed. It is not refused for it: the next one is. */
  replayed(request: FastifyRequest, principal: Principal, bytesOf: () => number): void {
    const checks = this.#checksOf(request, principal, { replayBytes: 0 }).filter(isRate);
    if (checks.length === 0) return;
    const bytes = bytesOf();
    if (bytes <= 0) return;
    this.#settle(checks, bytes);
  }

  /**
   * A generation has ended, here or elsewhere, and is counted with what it has used, where that is known. However long it ran: what of a reservation has come
   * back meanwhile was room for others, and what is given back beyond an empty counter is lost. So what is used stays within the limit on average; in one
   * minute it may be above it by as much as generations that end then had reserved in earlier ones.
   */
  ended({ generation }: Pick<GenerationRef, "generation">, usage: Usage | undefined): void {
    this.#held.release(generation);
    this.#generations.delete(generation);
    const reservation = this.#reservations.get(generation);
    if (!reservation) return;
    this.#reservations.delete(generation);
    if (!usage) return;
    const used = (usage.input_tokens ?? 0) + usage.output_tokens;
    const { checks, units } = reservation;
    this.#settle(checks, used - units);
  }

  #settle(checks: readonly RateCheck[], units: number): void {
    for (const check of checks) this.#options.counters.settle(check, units).catch(this.#options.onError);
  }

  #reserve(generation: string, checks: readonly RateCheck[], units: number): void {
    // Two creates with one Idempotency-Key at once have both reserved.
    const others = this.#reservations.get(generation)?.units ?? 0;
    this.#reservations.set(generation, { checks, units: units + others });
    if (this.#reservations.size <= MAX_RESERVATIONS) return;
    const [oldest] = this.#reservations.keys();
    if (oldest !== undefined) this.#reservations.delete(oldest);
  }

  /** @param request undefined for a generation of the platform's own */
  #checksOf(request: FastifyRequest | undefined, principal: Principal, use: LimitUse): readonly LimitCheck[] {
    const { limits, tenant, endUser } = principal;
    if (!limits) return [];
    // A stream token's key is the one that signed it, which may have signed all of the tenant's tokens.
    const keyId = principal.tokenId === undefined ? principal.keyId : undefined;
    const address = request && countedAddress(request.clientAddress ?? "");
    return toLimitChecks(limits, { tenant, keyId, endUser, address }, use);
  }

  #remember(refused: Refusal): RepriseError {
    const { check, retryAfterMs } = refused;
    if (retryAfterMs !== undefined && check.name.endsWith(REQUESTS)) {
      this.#usedUp.set(check.key, { limit: check.limit, untilMs: performance.now() + retryAfterMs });
      const [oldest] = this.#usedUp.keys();
      if (this.#usedUp.size > MAX_REFUSALS && oldest !== undefined) this.#usedUp.delete(oldest);
    }
    return this.#refusal(refused);
  }

  #refusal(refused: Refusal): RepriseError {
    this.#options.onRefused(refused.check.name);
    return toRefusal(refused);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#generations[Symbol.asyncDispose]();
    await this.#held[Symbol.asyncDispose]();
  }
}

const TOKENS = ".tokens_per_minute";
const REQUESTS = ".requests_per_minute";
const REQUEST_BYTES = ".request_bytes_per_minute";

/** A body of unknown length counts as the largest allowed. Uploads have limits of their own. */
function bodyBytesOf(request: FastifyRequest): number {
  return request.routeOptions.config.streamsBody ? 0 : (bodyLengthOf(request.raw) ?? LIMITS.bodyBytes);
}

/** Returns the tokens that a create reserves. */
export function reservationOf(request: { readonly max_output_tokens?: number | undefined }): number {
  return request.max_output_tokens ?? DEFAULT_RESERVATION;
}

function isLease(check: LimitCheck): check is LeaseCheck {
  return check.kind === "lease";
}

function isRate(check: LimitCheck): check is RateCheck {
  return check.kind === "rate";
}

type Refusal = NonNullable<Decision["refused"]>;

function toRefusal({ check, retryAfterMs }: Refusal): RepriseError {
  if (retryAfterMs === undefined && check.kind === "rate") {
    const message = `The call takes ${check.cost} of ${check.name}, whose limit is ${check.limit}.`;
    return new RepriseError("invalid_request", message, { param: check.name });
  }
  const every = check.kind === "rate" ? ` in ${check.windowMs / 1_000} s` : " at a time";
  const message = `The limit ${check.name} is reached: ${check.limit}${every}.`;
  return new RepriseError("limit_exceeded", message, { param: check.name, retryAfterMs });
}
