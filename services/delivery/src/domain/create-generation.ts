import { hash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  beginLog,
  type Broker,
  enqueueJob,
  type GenerationLog,
  type RuleSetStore,
  type StoredEvent,
  type TenantShare,
} from "@reprise/log";
import {
  type BudgetCharge,
  createGenerationId,
  deriveGenerationId,
  type EffectiveModeration,
  encodeEvent,
  type GenerationId,
  type GenerationRef,
  type GenerationRequest,
  LIMITS,
  type ModerationRule,
  OPTIONAL_EVENTS,
  type Policy,
  RepriseError,
  type RequestedEvent,
  tightenPolicy,
  type TenantId,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { formatTraceparent, inSpan, NO_SPAN, type TraceSpan } from "@reprise/telemetry";
import { prepareModeration } from "../review/prepare-moderation.ts";
import { toRequested } from "./to-requested.ts";

/** What the platform adds to a request, for its worker: the request itself stays as it was sent. */
export type RequestAdditions = Pick<RequestedEvent, "needs" | "media" | "blobs" | "context" | "prompt">;

export interface ToCreate {
  readonly ref: GenerationRef;
  readonly requested: RequestedEvent;
}

export interface CreateOptions {
  log: GenerationLog;
  ruleSets: RuleSetStore;
  /** Checks the rules that the request brings, once it is admitted. What it throws is the answer. */
  checkRules: (tenant: TenantId, rules: readonly ModerationRule[]) => Promise<void>;
  /** The classifiers that rules may name. Default: any, for this node does not know them. */
  classifiers?: ReadonlySet<string> | undefined;
  shards: number;
  tenant: TenantId;
  tenantPolicy: Policy;
  /** What the tenant may have of the model's slots. */
  share: TenantShare;
  /** As it was sent. */
  request: GenerationRequest;
  /** The request as it is stored, called where the generation is to be created: a turn says whom its conversation is about. What it throws is the answer. */
  toStored?: (() => Promise<GenerationRequest>) | undefined;
  /** Called once it is admitted, before anything is stored: what stands beside the request in seq 0. What it throws is the answer. */
  prepare?: ((ref: GenerationRef) => Promise<RequestAdditions>) | undefined;
  /** Called behind that with seq 0 as it is now: the budgets of all that the model is given. What it throws is the answer. */
  reserve?: ((created: ToCreate) => Promise<void>) | undefined;
  /** Called behind that, for what is not to be done before: what stands in seq 0 beside that. What it throws is the answer. */
  complete?: ((requested: RequestedEvent) => Promise<Partial<RequestAdditions> | undefined>) | undefined;
  idempotencyKey: string | undefined;
  /** The end user whose key it is: those of two users, and of the tenant itself, name different generations. Default: the tenant. */
  keyOwner?: string | undefined;
  /** Whether the caller resumes: there must be something to join, and nothing is created. */
  joinOnly: boolean;
  /**
   * Called once, before anything is read for the generation that is to be created, let alone stored; with nothing when there is one to join. What it
   * throws is the answer.
   */
  admit: (created: GenerationRef | undefined) => Promise<void>;
  /**
   * Called last of these, before anything of it is stored: what stands in seq 0 in the place of what `prepare` has said, or undefined where that
   * holds. What it throws is the answer.
   */
  claim?: ((ref: GenerationRef) => Promise<RequestAdditions | undefined>) | undefined;
  /** Called behind `claim` where the key turns out to be another request's. */
  unclaim?: ((ref: GenerationRef) => Promise<void>) | undefined;
  /** Called where the create fails once it is admitted, and nothing of the generation is stored for sure. */
  onAbandoned?: ((ref: GenerationRef) => void) | undefined;
  traceparent: string | undefined;
  /** Begins the span in which the job is queued. Default: there is none. */
  startSend?: ((ref: GenerationRef) => TraceSpan) | undefined;
  /** What the generation is counted against. */
  budgets?: readonly BudgetCharge[] | undefined;
  now: Date;
  /** Carries the live feed. */
  connection: Broker["main"];
  onError: (error: unknown) => void;
  /** Called before anything of a new generation is sent to the broker. */
  onCreating?: ((ref: GenerationRef) => void) | undefined;
}

export interface Created {
  ref: GenerationRef;
  requested: RequestedEvent;
  /** Whether the generation existed before this call. */
  joined: boolean;
  /** Its seq 0, as it is stored. */
  first: Pick<StoredEvent, "payload" | "streamSeq">;
}

/**
 * Creates a generation, or joins the one that the idempotency key stands for.
 *
 * The job first, then seq 0: a node that dies between the two leaves a job behind, and its worker writes the seq 0 that the job
 * carries. The other way round would leave a generation that no worker ever runs. Before both, the rules that seq 0 will name, if it is
 * to be moderated: moderation must find the rules of every log that it reads. All steps are harmless when repeated: the
 * job's message id and the compare-and-set on an empty log let the first one win, and all others find what it wrote.
 * @throws RepriseError what the callbacks throw; `idempotency_conflict`, `generation_expired`, `generation_erased` (the key's), `invalid_request`, `cursor_invalid` (nothing to
 *   join), `broker_unavailable`
 */
export async function createGeneration(options: CreateOptions): Promise<Created> {
  const { log, ruleSets, classifiers, shards, tenant, tenantPolicy, joinOnly } = options;
  const { idempotencyKey, keyOwner } = options;
  const generation =
    idempotencyKey === undefined
      ? createGenerationId(randomBytes(17), shards)
      : keyedGeneration(tenant, { key: idempotencyKey, owner: keyOwner, shards });
  const ref: GenerationRef = { tenant, generation };
  if (idempotencyKey !== undefined) {
    const first = await log.reader.readFirst(ref);
    if (first) {
      const requested = assertSameRequest(toRequested(first.payload), options.request);
      await options.admit(undefined);
      return { ref, requested, joined: true, first };
    }
  }
  if (joinOnly) {
    throw new RepriseError(
      "cursor_invalid",
      "Nothing was created with this Idempotency-Key that could be resumed.",
      {
        param: "Last-Event-ID",
      },
    );
  }

  const request = (await options.toStored?.()) ?? options.request;
  await options.admit(ref);
  let encoded: ReturnType<typeof encodeRequested>;
  try {
    const prepared = await prepareModeration({
      tenantPolicy,
      requestPolicy: request.policy ?? {},
      classifiers,
      check: (rules) => options.checkRules(tenant, rules),
    });
    const additions = await options.prepare?.(ref);
    const encode = (all: RequestAdditions | undefined) =>
      encodeRequested(ref, { ...options, request }, { moderation: prepared?.moderation, additions: all });
    encoded = encode(additions);
    await options.reserve?.({ ref, requested: encoded.requested });
    const more = await options.complete?.(encoded.requested);
    if (more) encoded = encode({ ...additions, ...more });
    if (prepared) await ruleSets.keep(tenant, prepared.rules);
    const anew = await options.claim?.(ref);
    if (anew) encoded = encode({ ...anew, ...withMedia(anew, more) });
    options.onCreating?.(ref);
  } catch (error) {
    options.onAbandoned?.(ref);
    throw error;
  }
  const { requested, payload } = encoded;
  const sending = options.startSend?.(ref) ?? NO_SPAN;
  const { duplicate } = await inSpan(sending, () =>
    enqueueJob(log.publish, {
      model: request.model,
      ref,
      priority: request.priority,
      payload,
      share: options.share,
      trace: sending.context && formatTraceparent(sending.context),
      budgetMs: log.budgetMs,
    }),
  );
  const first = await writeRequested(options, ref, payload, duplicate);
  // A worker that was faster has written what its job holds, which is ours too.
  const isOurs = Buffer.compare(first.payload, payload) === 0;
  if (isOurs) return { ref, requested, joined: duplicate, first };
  try {
    const joined = assertSameRequest(toRequested(first.payload), request);
    return { ref, requested: joined, joined: duplicate, first };
  } catch (error) {
    await options.unclaim?.(ref);
    throw error;
  }
}

/**
 * Writes seq 0, unless it is there. Where the job was another create's, that one gets the time to write the seq 0 that belongs to it.
 * @returns what is there, ours or another's
 */
async function writeRequested(
  { log, connection, onError }: CreateOptions,
  ref: GenerationRef,
  payload: Uint8Array,
  isOthers: boolean,
): Promise<Created["first"]> {
  const begun = await beginLog({
    connection,
    onError,
    publish: log.publish,
    ref,
    payload,
    first: isOthers ? "wait" : "publish",
    read: () => log.reader.readFirst(ref),
    budgetMs: log.budgetMs,
  });
  return begun.kind === "found" ? begun.log : { payload, streamSeq: begun.streamSeq };
}

function encodeRequested(
  ref: GenerationRef,
  options: CreateOptions,
  {
    moderation,
    additions,
  }: { moderation: EffectiveModeration | undefined; additions: RequestAdditions | undefined },
): { requested: RequestedEvent; payload: Uint8Array } {
  const { request, tenantPolicy, idempotencyKey, traceparent, budgets, now } = options;
  const draft = {
    type: "generation.requested" as const,
    tenant: ref.tenant,
    generation: ref.generation,
    created_at: now.toISOString(),
    request,
    ...additions,
    events: [...OPTIONAL_EVENTS],
    policy: { ...tightenPolicy(tenantPolicy, request.policy ?? {}), ...(moderation && { moderation }) },
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(traceparent !== undefined && { traceparent }),
    ...(budgets && { budgets: [...budgets] }),
  };
  const payload = encodeEvent(REQUEST_SEQ, draft);
  if (payload.length > LIMITS.eventBytes) {
    throw new RepriseError(
      "invalid_request",
      `body: the request takes ${payload.length} bytes once it is encoded; the limit is ${LIMITS.eventBytes}.`,
      { param: "body" },
    );
  }
  return { requested: { seq: REQUEST_SEQ, ...draft }, payload };
}

/** What was fetched for a request is still what its URLs have given. */
function withMedia(
  anew: RequestAdditions,
  fetched: Partial<RequestAdditions> | undefined,
): Partial<RequestAdditions> {
  return fetched?.media ? { media: { ...anew.media, ...fetched.media } } : {};
}

/**
 * The generation that an idempotency key of a tenant names, whether it is there or not.
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
  // Neither has a blank: what one owner's key gives, no other's does.
  return deriveGenerationId(tenant, owner === undefined ? key : `${key} ${owner}`, shards, sha256);
}

/** Compared as it would be stored: JSON has no -0, and a turn that does not say whom it is about is about whom its conversation is. */
function assertSameRequest(existing: RequestedEvent, sent: GenerationRequest): RequestedEvent {
  const { subject, end_user } = existing.request;
  const owner = sent.conversation === undefined ? {} : { subject, end_user };
  if (isDeepStrictEqual(existing.request, JSON.parse(JSON.stringify({ ...owner, ...sent })))) return existing;
  throw new RepriseError("idempotency_conflict", "This Idempotency-Key was used with a different request.", {
    param: "Idempotency-Key",
  });
}

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}
