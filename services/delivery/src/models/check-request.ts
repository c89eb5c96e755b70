import {
  assertServable,
  effectiveRequest,
  isCapability,
  type Need,
  needsOf,
  RepriseError,
  type RequestedEvent,
  type ServedBy,
  toStoredNeeds,
} from "@reprise/protocol";
import type { RequestAdditions } from "../domain/create-generation.ts";
import type { FleetWatch } from "../fleet/fleet-watch.ts";

type Told = Awaited<ReturnType<FleetWatch["capabilitiesOf"]>>;

const OLDER_RETRY_MS = 2_000;

/**
 * Refuses, before anything is stored, what the model can't do, and what a worker of an earlier version would leave out in silence.
 * @param servedBy undefined where this node does not know the model's engine: then its worker is the judge
 * @returns what is to be stored with the request
 * @throws RepriseError `capability_unsupported`, `invalid_request` (options), `request_unsupported`
 */
export async function checkRequest(
  requested: Pick<RequestedEvent, "request" | "prompt">,
  servedBy: ServedBy | undefined,
  workers: Pick<FleetWatch, "capabilitiesOf">,
): Promise<RequestAdditions> {
  const request = effectiveRequest(requested);
  const history: Need[] = requested.prompt ? [{ capability: "history", param: "conversation" }] : [];
  const needs = [...history, ...needsOf(request)];
  const stored = toStoredNeeds(needs);
  const told = stored ? await workers.capabilitiesOf(request.model) : [];
  if (servedBy) assertServable(request, needs, withTold(servedBy, told));
  assertTold(told);
  return stored ? { needs: stored } : {};
}

/** What a model can do by the models file, and what else by the word of each of its workers: model servers tell some of it themselves. */
export function withTold(servedBy: ServedBy, [first, ...others]: Told): ServedBy {
  const all = first?.filter(isCapability).filter((name) => others.every((one) => one?.includes(name)));
  if (!all || all.length === 0) return servedBy;
  return { ...servedBy, capabilities: new Set([...servedBy.capabilities, ...all]) };
}

/** A worker that tells nothing is of a version that knows no needs. Which worker gets a job is not delivery's to say. */
export function assertTold(told: Told): void {
  if (told.every((capabilities) => capabilities !== undefined)) return;
  const message = "A worker of this model is of a version that does not know what the request asks for.";
  throw new RepriseError("request_unsupported", message, { retryAfterMs: OLDER_RETRY_MS });
}
