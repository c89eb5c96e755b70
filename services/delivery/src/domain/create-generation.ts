import { randomBytes, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { enqueueJob, type GenerationLog } from "@reprise/log";
import {
  createGenerationId,
  decodeEvent,
  deriveGenerationId,
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

export interface CreateOptions {
  log: GenerationLog;
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

/** How often the first event is tried before the caller is told to come back; each try waits up to 2 s for the broker. */
const MAX_TRIES = 5;

/**
 * Creates a generation, or joins the one that the idempotency key stands for.
 *
 * The job first, then seq 0: whoever dies between the two leaves a job behind, and its worker writes the seq 0 that the job
 * carries. The other way round would leave a generation that nobody ever runs. Both steps are harmless when repeated: the
 * job's message id and the compare-and-set on an empty log let the first one win, and everybody else finds what it wrote.
 * @throws RepriseError `idempotency_conflict`, `invalid_request`, `cursor_invalid` (nothing to join), `broker_unavailable`
 */
export async function createGeneration(options: CreateOptions): Promise<Created> {
  const { log, shards, tenant, request, idempotencyKey, joinOnly } = options;
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

  const { requested, payload } = encodeRequested(ref, options);
  const { duplicate } = await enqueueJob(log.publish, { model: request.model, ref, payload });
  const writer = randomUUID();
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const outcome = await log.publish(logSubject(ref), payload, { expectedLast: 0, writer });
    if (outcome.kind === "stored") return { ref, requested, joined: duplicate };
    // Its worker may have been faster, or another create with the same key, or our own publish with a lost answer.
    const existing = await readRequested(log, ref);
    if (existing) return { ref, requested: assertSameRequest(existing, request), joined: duplicate };
  }
  throw new RepriseError("broker_unavailable", "The generation could not be written to the log.", {
    retryAfterMs: 1_000,
  });
}

function encodeRequested(
  ref: GenerationRef,
  options: CreateOptions,
): { requested: RequestedEvent; payload: Uint8Array } {
  const { request, tenantPolicy, idempotencyKey, traceparent, now } = options;
  const draft = {
    type: "generation.requested" as const,
    tenant: ref.tenant,
    generation: ref.generation,
    created_at: now.toISOString(),
    request,
    policy: tightenPolicy(tenantPolicy, request.policy ?? {}),
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
  return first && (decodeEvent(first) as RequestedEvent);
}

/** Compared as it would be stored: JSON has no -0. */
function assertSameRequest(existing: RequestedEvent, request: GenerationRequest): RequestedEvent {
  if (isDeepStrictEqual(existing.request, JSON.parse(JSON.stringify(request)))) return existing;
  throw new RepriseError("idempotency_conflict", "This Idempotency-Key was used with a different request.", {
    param: "Idempotency-Key",
  });
}
