import type { ParseOptions } from "@reprise/projections";
import { RepriseError, type ServedBy } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";
import { headerOf } from "../../http/header-of.ts";

export interface ParsePorts {
  readonly servedBy: (model: string) => ServedBy | undefined;
}

/** Returns the model facts that the parsers of these protocols need. A model unknown to this node gets its earlier reasoning. */
export function parseOptions({ servedBy }: ParsePorts, model: string | undefined): ParseOptions {
  return { model, keepsReasoning: (name) => servedBy(name)?.capabilities.has("reasoning_history") ?? true };
}

/**
 * A run has its name in the body, which is all that tells it from others.
 * @throws RepriseError `invalid_request`
 */
export function assertNamedOnce(request: FastifyRequest, runId: string): void {
  if (headerOf(request, "idempotency-key") !== undefined)
    throw refused("Idempotency-Key", "can't be sent: runId is the run's key");
  const repeated = headerOf(request, "x-run-id");
  if (repeated !== undefined && repeated !== runId) throw refused("X-Run-Id", "is not the body's runId");
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
