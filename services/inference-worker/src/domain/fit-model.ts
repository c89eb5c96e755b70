import type { Capability, RequestedEvent } from "@reprise/protocol";
import type { Engine } from "../engines/engine.ts";
import type { ServedModel } from "../model-queues.ts";

type Requested = Pick<RequestedEvent, "needs"> & {
  readonly request: Pick<RequestedEvent["request"], "tools">;
};

/** The first thing that a request needs and an engine can't do; undefined where it can do all. Names of later versions are nothing that it can. */
export function firstUnmet(
  { capabilities, isLearning }: Pick<Engine, "capabilities" | "isLearning">,
  requested: Requested,
): string | undefined {
  if (!capabilities || isLearning) return undefined;
  const needs = [...(requested.request.tools ? ["tools"] : []), ...(requested.needs ?? [])];
  return needs.find((name) => !capabilities.has(name as Capability));
}

/** The model without a fallback that would leave out what the request asks for. */
export function fitModel(model: ServedModel, requested: Requested): ServedModel {
  const { fallback, ...alone } = model;
  return fallback && firstUnmet(fallback.engine, requested) !== undefined ? alone : model;
}
