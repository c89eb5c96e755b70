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
import type { ScaleWatch } from "../scaling/scale-watch.ts";

const OLDER_RETRY_MS = 2_000;

/**
 * Refuses, before anything is stored, what the model can't do, and what a worker of an earlier version would leave out in silence.
 * @param servedBy undefined where this node does not know the model's engine: then its worker is the judge
 * @returns what is to be stored with the request
 * @throws RepriseError `capability_unsupported`, `invalid_request` (options), `request_unsupported`
 */
export async function checkRequest(
  request: GenerationRequest,
  servedBy: ServedBy | undefined,
  workers: Pick<ScaleWatch, "capabilitiesOf">,
): Promise<Capability[] | undefined> {
  const needs = needsOf(request);
  if (servedBy) assertServable(request, needs, servedBy);
  assertInline(request);
  const stored = toStoredNeeds(needs);
  if (stored) assertTold(await workers.capabilitiesOf(request.model));
  return stored;
}

/** A worker that tells nothing is of a version that knows no needs. Which worker gets a job is not delivery's to say. */
function assertTold(told: readonly (readonly string[] | undefined)[]): void {
  if (told.every((capabilities) => capabilities !== undefined)) return;
  const message = "A worker of this model is of a version that does not know what the request asks for.";
  throw new RepriseError("request_unsupported", message, { retryAfterMs: OLDER_RETRY_MS });
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
