import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createWriterName, enqueueJob, type GenerationLog, type RuleSetStore } from "@reprise/log";
import {
  createGenerationId,
  deriveGenerationId,
  type EffectiveModeration,
  encodeEvent,
  type GenerationRef,
  type GenerationRequest,
  LIMITS,
  logSubject,
  type Policy,
  RepriseError,
  type RequestedEvent,
  tightenPolicy,
  type TenantId,
} from "@reprise/protocol";
import { keepModeration } from "./keep-moderation.ts";
import { toRequested } from "./to-requested.ts";

export interface CreateOptions {
  log: GenerationLog;
  ruleSets: RuleSetStore;
  shards: number;
  tenant: TenantId;
  tenantPolicy: Policy;
  request: GenerationRequest;
  idempotencyKey: string | undefined;
  /** Whether the caller resumes: there must be something to join, and nothing is created. */
  joinOnly: boolean;
  traceparent: string | undefined;
  now: Date;
}

export interface Created {
  ref: GenerationRef;
  requested: RequestedEvent;
  /** Whether the generation existed before this call. */
  joined: boolean;
}

const PAUSE_MS = 50;
/** How long another create of the same generation may take between its job and its seq 0. */
const OTHERS_MS = 1_000;

/**
 * Creates a generation, or joins the one that the idempotency key stands for.
 *
 * The job first, then seq 0: whoever dies between the two leaves a job behind, and its worker writes the seq 0 that the job
 * carries. The other way round would leave a generation that nobody ever runs. Before both, the rules that seq 0 will name, if it is to
 * be moderated: nobody must meet a log whose rules are not there. All steps are harmless when repeated: the
 * job's message id and the compare-and-set on an empty log let the first one win, and everybody else finds what it wrote.
 * @throws RepriseError `idempotency_conflict`, `generation_expired`, `generation_erased` (the key's), `invalid_request`, `cursor_invalid` (nothing to
 *   join), `broker_unavailable`
 */
export async function createGeneration(options: CreateOptions): Promise<Created> {
  const { log, ruleSets, shards, tenant, tenantPolicy, request, idempotencyKey, joinOnly } = options;
  const generation =
    idempotencyKey === undefined
      ? createGenerationId(randomBytes(17), shards)
      : await deriveGenerationId(tenant, idempotencyKey, shards);
  const ref: GenerationRef = { tenant, generation };
  if (idempotencyKey !== undefined) {
    const existing = await readRequested(log, ref);
    if (existing) return { ref, requested: assertSameRequest(existing, request), joined: true };
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

  const policies = { tenantPolicy, requestPolicy: request.policy ?? {} };
  const moderation = await keepModeration(ruleSets, tenant, policies);
  const { requested, payload } = encodeRequested(ref, options, moderation);
  const { duplicate } = await enqueueJob(log.publish, {
    model: request.model,
    ref,
    payload,
    budgetMs: log.budgetMs,
  });
  const existing = await writeRequested(log, ref, payload, duplicate);
  return { ref, requested: existing ? assertSameRequest(existing, request) : requested, joined: duplicate };
}

/**
 * Writes seq 0, unless somebody has: a worker that was faster, another create with the same key, or our own publish whose answer
 * was lost. Where the job was another create's, that one gets the time to write the seq 0 that belongs to it.
 * @returns what is there instead of ours
 */
async function writeRequested(
  log: GenerationLog,
  ref: GenerationRef,
  payload: Uint8Array,
  isOthers: boolean,
): Promise<RequestedEvent | undefined> {
  const writer = createWriterName();
  const startedAt = Date.now();
  for (let sinceMs = 0; sinceMs < log.budgetMs; sinceMs = Date.now() - startedAt) {
    if (!isOthers || sinceMs > OTHERS_MS) {
      const outcome = await log.publish(logSubject(ref), payload, { expectedLast: 0, writer });
      if (outcome.kind === "stored") return undefined;
    }
    const existing = await readRequested(log, ref).catch(ignoreUnavailable);
    if (existing) return existing;
    await pause(PAUSE_MS);
  }
  throw new RepriseError("broker_unavailable", "The generation could not be written to the log.", {
    retryAfterMs: 1_000,
  });
}

function ignoreUnavailable(error: unknown): undefined {
  if (error instanceof RepriseError && error.code === "broker_unavailable") return undefined;
  throw error;
}

function encodeRequested(
  ref: GenerationRef,
  options: CreateOptions,
  moderation: EffectiveModeration | undefined,
): { requested: RequestedEvent; payload: Uint8Array } {
  const { request, tenantPolicy, idempotencyKey, traceparent, now } = options;
  const draft = {
    type: "generation.requested" as const,
    tenant: ref.tenant,
    generation: ref.generation,
    created_at: now.toISOString(),
    request,
    policy: { ...tightenPolicy(tenantPolicy, request.policy ?? {}), ...(moderation && { moderation }) },
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(traceparent !== undefined && { traceparent }),
  };
  const payload = encodeEvent(0, draft);
  if (payload.length > LIMITS.eventBytes) {
    throw new RepriseError(
      "invalid_request",
      `body: the request takes ${payload.length} bytes once it is encoded; the limit is ${LIMITS.eventBytes}.`,
      { param: "body" },
    );
  }
  return { requested: { seq: 0, ...draft }, payload };
}

async function readRequested(log: GenerationLog, ref: GenerationRef): Promise<RequestedEvent | undefined> {
  const [first] = (await log.reader.readLog(ref)).events;
  return first && toRequested(first);
}

/** Compared as it would be stored: JSON has no -0. */
function assertSameRequest(existing: RequestedEvent, request: GenerationRequest): RequestedEvent {
  if (isDeepStrictEqual(existing.request, JSON.parse(JSON.stringify(request)))) return existing;
  throw new RepriseError("idempotency_conflict", "This Idempotency-Key was used with a different request.", {
    param: "Idempotency-Key",
  });
}
