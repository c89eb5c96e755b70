import {
  BLOB_TTL_SECONDS,
  encodeEvent,
  LIMITS,
  OPTIONAL_EVENTS,
  REQUEST_SEQ,
  RepriseError,
  type RequestedEvent,
  tightenPolicy,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { Creating, EncodedRequest } from "./creating.ts";

/** A worker stores no blob for a server that could neither send nor remove it. */
const WITHOUT_BLOBS = OPTIONAL_EVENTS.filter((type) => type !== "output.blob");

/**
 * Encodes seq 0 of a generation.
 * @throws RepriseError `invalid_request` if it takes more bytes than an event may
 */
export function encodeRequest(
  creating: Creating,
  {
    traceparent,
    blobTtlSeconds,
    storesBlobs,
  }: {
    readonly traceparent: string | undefined;
    readonly blobTtlSeconds: number;
    readonly storesBlobs: boolean;
  },
): EncodedRequest {
  const { asked, ref, request, idempotencyKey, charges, moderation, needs, requestedAt } = creating;
  const { policy, limits } = asked.principal;
  const blobs = blobLimits(limits, blobTtlSeconds);
  const media = mediaOf(creating);
  const draft = {
    type: "generation.requested" as const,
    tenant: ref.tenant,
    generation: ref.generation,
    created_at: requestedAt.toISOString(),
    request,
    ...(needs && { needs }),
    ...promptFields(creating),
    ...(media && { media }),
    ...(blobs && { blobs }),
    events: storesBlobs ? [...OPTIONAL_EVENTS] : WITHOUT_BLOBS,
    policy: {
      ...tightenPolicy(policy, request.policy ?? {}),
      ...(moderation && { moderation: moderation.moderation }),
    },
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
    ...(traceparent !== undefined && { traceparent }),
    ...(charges && { budgets: [...charges] }),
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

/** Returns what seq 0 says of the prompt before the request's own input. */
export function promptFields({ given }: Creating): Pick<RequestedEvent, "prompt" | "context"> {
  const { prompt = [], context } = given ?? {};
  return { ...(context && { context }), ...(prompt.length > 0 && { prompt }) };
}

/** Returns the content of every URL and blob that the request and its prompt name, as far as it is known; undefined if there is none. */
export function mediaOf({ media, given, fetched }: Creating): RequestedEvent["media"] {
  const all = { ...given?.media, ...media, ...fetched?.media };
  return Object.keys(all).length > 0 ? all : undefined;
}

/** Returns the limits of what the model may make that differ from a worker's defaults. */
function blobLimits(
  { blobs }: NonNullable<Principal["limits"]> = {},
  ttlSeconds: number,
): RequestedEvent["blobs"] {
  const { blob_bytes: maxBytes, bytes: quotaBytes } = blobs ?? {};
  const limits = {
    ...(maxBytes !== undefined && { max_bytes: maxBytes }),
    ...(quotaBytes !== undefined && { quota_bytes: quotaBytes }),
    ...(ttlSeconds !== BLOB_TTL_SECONDS && { ttl_seconds: ttlSeconds }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}
