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

/** The workers of this platform, as they announce themselves. */
export interface ModelWorkers {
  /** Returns the capabilities that each worker of a model reports; undefined for a worker that reports none. */
  capabilitiesOf(model: string): Promise<Told>;
  /** Returns the context size of the model in tokens, including its answer; undefined if no worker reports it. */
  contextTokensOf(model: string): Promise<number | undefined>;
}

type Told = readonly (readonly string[] | undefined)[];

const OLDER_RETRY_MS = 2_000;

/**
 * Refuses, before anything is stored, what the model can't do, and what a worker of an earlier version would leave out in silence.
 * @param servedBy undefined where this node does not know the model's engine: then its worker is the judge
 * @returns the needs that seq 0 names for the worker
 * @throws RepriseError `capability_unsupported`, `invalid_request` (options), `request_unsupported`
 */
export async function checkRequest(
  requested: Pick<RequestedEvent, "request" | "prompt">,
  servedBy: ServedBy | undefined,
  workers: Pick<ModelWorkers, "capabilitiesOf">,
): Promise<RequestedEvent["needs"]> {
  const request = effectiveRequest(requested);
  const history: Need[] = requested.prompt ? [{ capability: "history", param: "conversation" }] : [];
  const needs = [...history, ...needsOf(request)];
  const stored = toStoredNeeds(needs);
  const told = stored ? await workers.capabilitiesOf(request.model) : [];
  if (servedBy) assertServable(request, needs, withTold(servedBy, told));
  assertTold(told);
  return stored;
}

/** Combines the capabilities in the models file with those that all workers report: model servers report some of them. */
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
