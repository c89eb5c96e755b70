import { hash, randomBytes } from "node:crypto";
import type { BufferedFeed, StoredEvent } from "@reprise/stream";
import {
  type BudgetCharge,
  createGenerationId,
  deriveGenerationId,
  type GenerationId,
  type GenerationRef,
  type GenerationRequest,
  type MediaMap,
  parseIdempotencyKey,
  type Prompt,
  RepriseError,
  type RequestedEvent,
  type TenantId,
  type TurnContext,
  type UnixMs,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { ownEndUser } from "../http/own-end-user.ts";
import type { RequestBudgets } from "../limits/request-budgets.ts";
import { type Call, reservationOf } from "../limits/request-limits.ts";
import { assertModel } from "../models/assert-model.ts";
import type { FetchedMedia } from "../models/request-blobs.ts";
import type { PreparedModeration } from "../review/prepare-moderation.ts";
import { withToken } from "./with-token.ts";

/** A create as its route, or the platform itself, asks for it. */
export interface Asked {
  readonly principal: Principal;
  /** The HTTP call to answer; undefined for a generation of the platform's own. */
  readonly call?: Call | undefined;
  /** The request as its caller sent it. */
  readonly request: GenerationRequest;
  /** The request's conversation, if it is created with this generation. */
  readonly begins?: NewConversation | undefined;
  /** The prompt of a generation of the platform's own. */
  readonly given?: Given | undefined;
  /** The key as it was sent, or as a protocol derives it from what its clients send. Undefined: there is nothing to join. */
  readonly idempotencyKey: string | undefined;
  /** The caller resumes: there must be a generation to join, and none is created. Default false. */
  readonly joinOnly?: boolean;
  /** The answer is a stream: it takes a reader's place of the limits, and the node listens to the live feed from the beginning. Default false. */
  readonly isStream?: boolean;
  /** Called before anything of a new generation is stored, with the time of the request. */
  readonly onCreating?: ((ref: GenerationRef, requestedAtMs: UnixMs) => void) | undefined;
}

/** Context that the model gets before a request's own input. */
export interface Given {
  readonly prompt: Prompt;
  readonly context: TurnContext;
  /** The prompt with what is known of turns that the generation waits for. Default: the prompt. */
  readonly known?: Prompt;
  /** Media that the prompt names. */
  readonly media?: MediaMap;
}

/** Whom a conversation is about, and whose it is. */
export type Owner = Pick<GenerationRequest, "subject" | "end_user">;

/** A conversation that a request names and that may be missing yet. */
export interface NewConversation {
  readonly owner: Owner;
  /** Called once, after admission. Its error is the answer. */
  readonly create: () => Promise<unknown>;
}

/** Seq 0 before it is stored. */
export interface EncodedRequest {
  readonly requested: RequestedEvent;
  readonly payload: Uint8Array;
}

export interface Created {
  readonly requested: RequestedEvent;
  /** The generation existed before this call. */
  readonly joined: boolean;
  /** Seq 0 as it is stored. */
  readonly first: Pick<StoredEvent, "payload" | "streamSeq">;
}

/** The state of one create: its steps fill what they find out. */
export interface Creating {
  readonly asked: Asked;
  readonly ref: GenerationRef;
  readonly idempotencyKey: string | undefined;
  readonly requestedAt: Date;
  /** Budgets that the generation is counted against; undefined if the tenant has none. */
  charges: readonly BudgetCharge[] | undefined;
  /** Tokens that the limits reserve. */
  readonly tokens: number;
  /** The request as the caller's token permits it. */
  readonly sent: GenerationRequest;
  /** The request as it is stored: a turn has its conversation's owners. */
  request: GenerationRequest;
  moderation?: PreparedModeration | undefined;
  /** Media that the request itself names by blob. */
  media?: MediaMap | undefined;
  given?: Given | undefined;
  needs?: RequestedEvent["needs"];
  /** Media that the request names by URL, and all others. */
  fetched?: FetchedMedia | undefined;
  encoded?: EncodedRequest;
  /** The live feed of a generation whose answer is its stream. */
  listening?: BufferedFeed;
  /** Another create with the same key has queued the job. */
  isOthersJob?: boolean;
  /** Seq 0 of another request with the same key. */
  found?: RequestedEvent;
  created?: Created;
}

export interface BeginPorts {
  readonly modelNames: () => ReadonlySet<string>;
  readonly budgets: Pick<RequestBudgets, "chargesOf">;
  readonly shards: number;
}

/**
 * Begins a create: its request as the caller may send it, and its id.
 * @throws RepriseError `forbidden`, `invalid_request` (an end user that is not the token's, no key to resume with, a malformed key), `model_not_found`,
 *   `model_not_allowed`
 */
export function beginCreating(ports: BeginPorts, asked: Asked): Creating {
  const { principal } = asked;
  const { tenant } = principal;
  const sent = asked.call ? asPermitted(asked.request, principal) : asked.request;
  assertModel(ports, principal, sent.model);
  if (asked.joinOnly && asked.idempotencyKey === undefined) throw needsKey();
  const key = asked.idempotencyKey === undefined ? undefined : toKey(asked);
  const owner = asked.call && principal.endUser;
  const requestedAt = new Date();
  const { shards } = ports;
  const generation =
    key === undefined
      ? createGenerationId(randomBytes(17), shards)
      : keyedGeneration(tenant, { key, owner, shards });
  return {
    asked,
    ref: { tenant, generation },
    idempotencyKey: key,
    requestedAt,
    charges: ports.budgets.chargesOf(principal, sent.model, requestedAt),
    tokens: reservationOf(sent),
    sent,
    request: sent,
    given: asked.given,
  };
}

/** Returns a request as its caller's token permits it: of the token's end user, if it has one. */
function asPermitted(request: GenerationRequest, principal: Principal): GenerationRequest {
  const allowed = withToken(request, principal);
  const owner = ownEndUser(principal, allowed.end_user);
  return owner === undefined ? allowed : { ...allowed, end_user: owner };
}

/** The platform's own keys have blanks, which no client's key may have. */
function toKey({ call, idempotencyKey }: Asked): string {
  return call ? parseIdempotencyKey(idempotencyKey) : (idempotencyKey as string);
}

/**
 * Derives the generation that an idempotency key of a tenant names, whether it exists or not.
 * @param owner the end user whose key it is; undefined for the tenant's own
 */
export function keyedGeneration(
  tenant: TenantId,
  {
    key,
    owner,
    shards,
  }: { readonly key: string; readonly owner: string | undefined; readonly shards: number },
): GenerationId {
  // Neither has a blank: the keys of two owners never meet.
  return deriveGenerationId(tenant, owner === undefined ? key : `${key} ${owner}`, shards, sha256);
}

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}

function needsKey(): RepriseError {
  const message = "A create that resumes needs the Idempotency-Key it was first sent with.";
  return new RepriseError("invalid_request", message, { param: "Idempotency-Key" });
}
