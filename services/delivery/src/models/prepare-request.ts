import { type GenerationRequest, tightenPolicy } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { RequestAdditions } from "../domain/create-generation.ts";
import type { RouteContext } from "../routes/context.ts";
import { checkRequest } from "./check-request.ts";
import { resolveMedia } from "./resolve-media.ts";

/**
 * What stands beside a new generation's request in seq 0. Nothing is stored but that blobs are used.
 * @throws RepriseError what `checkRequest` and `resolveMedia` throw
 */
export async function prepareRequest(
  { servedBy, scale, blobs: { storage } }: Pick<RouteContext, "servedBy" | "scale" | "blobs">,
  request: GenerationRequest,
  { tenant, policy }: Pick<Principal, "tenant" | "policy">,
): Promise<RequestAdditions> {
  const checked = await checkRequest(request, servedBy(request.model), scale);
  const { timeouts } = tightenPolicy(policy, request.policy ?? {});
  const forMs = timeouts.queue.after_ms + timeouts.total.after_ms;
  const media = await resolveMedia(request, { storage, tenant, forMs });
  return { ...checked, ...(media && { media }) };
}
