import {
  assertServable,
  type Capability,
  type GenerationRequest,
  isMediaPart,
  needsOf,
  partsOf,
  RepriseError,
  type ServedBy,
  toStoredNeeds,
} from "@reprise/protocol";

/**
 * Refuses, before anything is stored, what the model can't do.
 * @param servedBy undefined where this node does not know the model's engine: then its worker is the judge
 * @returns what is to be stored with the request
 * @throws RepriseError `capability_unsupported`, `invalid_request` (options)
 */
export function checkRequest(
  request: GenerationRequest,
  servedBy: ServedBy | undefined,
): Capability[] | undefined {
  const needs = needsOf(request);
  if (servedBy) assertServable(request, needs, servedBy);
  assertInline(request);
  return toStoredNeeds(needs);
}

/** The one place that decides which references to media are taken: a worker is given the bytes of all others. */
function assertInline({ input }: GenerationRequest): void {
  for (const { part, path } of partsOf(input)) {
    if (!isMediaPart(part)) continue;
    if (part.blob !== undefined) throw unresolvable(`${path}.blob`, "blobs are not kept");
    if (part.url !== undefined && !part.url.startsWith("data:")) {
      throw unresolvable(`${path}.url`, "https URLs are not fetched");
    }
  }
}

function unresolvable(param: string, problem: string): RepriseError {
  const message = `${param}: ${problem} by this server; send a data URL.`;
  return new RepriseError("capability_unsupported", message, { param });
}
