import type { ParseOptions } from "@reprise/projections";
import { RepriseError, type ServedBy } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyRequest } from "fastify";
import { headerOf } from "../../http/header-of.ts";

export interface ParsePorts {
  readonly servedBy: (model: string) => ServedBy | undefined;
}

/** Returns the models that a caller may use: that of its token's template alone, or all of its tenant. */
export function usableModels(
  { modelNames }: { readonly modelNames: () => ReadonlySet<string> },
  { models: allowed, template }: Pick<Principal, "models" | "template">,
): string[] {
  return template ? [template.model] : [...modelNames()].filter((name) => !allowed || allowed.has(name));
}

/** Returns the model of a run that names none: the only one that its caller may use; undefined if there are several. */
export function onlyModel(...caller: Parameters<typeof usableModels>): string | undefined {
  const [only, ...others] = usableModels(...caller);
  return others.length === 0 ? only : undefined;
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
