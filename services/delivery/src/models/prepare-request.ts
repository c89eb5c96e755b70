import {
  BLOB_TTL_SECONDS,
  type GenerationRequest,
  type MediaMap,
  type RequestedEvent,
  tightenPolicy,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { RequestAdditions } from "../domain/create-generation.ts";
import type { RouteContext } from "../routes/context.ts";
import { checkRequest } from "./check-request.ts";
import { fetchMedia, type FetchedMedia } from "./fetch-media.ts";
import { resolveMedia } from "./resolve-media.ts";

/** What comes before a turn's own input. */
interface Earlier {
  readonly additions: Pick<RequestAdditions, "prompt" | "context">;
  /** All that its model will be given before, as far as that is known. */
  readonly known: RequestedEvent["prompt"];
  /** What the parts of that name. */
  readonly media: MediaMap;
}

/**
 * What stands beside a new generation's request in seq 0. Nothing is stored but that blobs are used.
 * @param readEarlier what comes before the request's own input, called with what that names and how long it may run; default: nothing
 * @throws RepriseError what `checkRequest`, `resolveMedia` and `readEarlier` throw
 */
export async function prepareRequest(
  { servedBy, fleet, blobs }: Pick<RouteContext, "servedBy" | "fleet" | "blobs">,
  request: GenerationRequest,
  principal: Principal,
  readEarlier: (own: { media: MediaMap; forMs: number }) => Promise<Earlier | undefined>,
): Promise<RequestAdditions> {
  const { storage, egress } = blobs;
  const forMs = runMsOf(request, principal);
  const { tenant } = principal;
  const own = await resolveMedia(request, { storage, tenant, forMs, allowed: egress?.allowed });
  const { additions, known, media: earlier } = (await readEarlier({ media: own ?? {}, forMs })) ?? {};
  const checked = await checkRequest({ request, prompt: known }, servedBy(request.model), fleet);
  const media = { ...earlier, ...own };
  return {
    ...checked,
    ...additions,
    ...(Object.keys(media).length > 0 && { media }),
    ...outputLimits(principal, blobs.ttlSeconds),
  };
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
 * @param media what seq 0 names by blob
 * @returns all that seq 0 names, or undefined where that is known already
 * @throws RepriseError what `fetchMedia` throws
 */
export function completeRequest(
  { blobs }: Pick<RouteContext, "blobs">,
  { request, media }: Pick<RequestedEvent, "request" | "media">,
  principal: Principal,
): Promise<FetchedMedia | undefined> {
  return fetchMedia(request, { blobs, principal, media, forMs: runMsOf(request, principal) });
}

function runMsOf(request: GenerationRequest, { policy }: Pick<Principal, "policy">): number {
  const { queue, total } = tightenPolicy(policy, request.policy ?? {}).timeouts;
  return queue.after_ms + total.after_ms;
}
