import {
  BLOB_TTL_SECONDS,
  effectiveRequest,
  type GenerationRequest,
  type MediaMap,
  type RequestedEvent,
  tightenPolicy,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { RequestAdditions } from "../domain/create-generation.ts";
import type { RouteContext } from "../routes/context.ts";
import { checkRequest } from "./check-request.ts";
import { fetchMedia } from "./fetch-media.ts";
import { resolveMedia } from "./resolve-media.ts";

/**
 * What stands beside a new generation's request in seq 0. Nothing is stored but that blobs are used.
 * @throws RepriseError what `checkRequest` and `resolveMedia` throw
 */
export async function prepareRequest(
  { servedBy, scale, blobs }: Pick<RouteContext, "servedBy" | "scale" | "blobs">,
  requested: Pick<RequestedEvent, "request" | "prompt">,
  principal: Principal,
): Promise<RequestAdditions> {
  const request = effectiveRequest(requested);
  const checked = await checkRequest(requested, servedBy(request.model), scale);
  const { storage, egress } = blobs;
  const forMs = runMsOf(request, principal);
  const { tenant } = principal;
  const media = await resolveMedia(request, { storage, tenant, forMs, allowed: egress?.allowed });
  return { ...checked, ...(media && { media }), ...outputLimits(principal, blobs.ttlSeconds) };
}

/** What the model may make, where that is not what every worker takes it for. */
function outputLimits({ limits }: Principal, ttlSeconds: number): Pick<RequestAdditions, "blobs"> {
  const { blob_bytes: maxBytes, bytes: quotaBytes } = limits?.blobs ?? {};
  const said = {
    ...(maxBytes !== undefined && { max_bytes: maxBytes }),
    ...(quotaBytes !== undefined && { quota_bytes: quotaBytes }),
    ...(ttlSeconds !== BLOB_TTL_SECONDS && { ttl_seconds: ttlSeconds }),
  };
  return Object.keys(said).length > 0 ? { blobs: said } : {};
}

/**
 * Fetches what the request names by URL, once the generation is admitted.
 * @returns all that the request names, or undefined where that is known already
 * @throws RepriseError what `fetchMedia` throws
 */
export async function completeRequest(
  { blobs }: Pick<RouteContext, "blobs">,
  request: GenerationRequest,
  { principal, media }: { principal: Principal; media: MediaMap | undefined },
): Promise<Pick<RequestAdditions, "media"> | undefined> {
  const whole = await fetchMedia(request, { blobs, principal, media, forMs: runMsOf(request, principal) });
  return whole && { media: whole };
}

function runMsOf(request: GenerationRequest, { policy }: Pick<Principal, "policy">): number {
  const { queue, total } = tightenPolicy(policy, request.policy ?? {}).timeouts;
  return queue.after_ms + total.after_ms;
}
