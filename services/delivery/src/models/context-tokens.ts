import type { ServedBy } from "@reprise/protocol";
import type { ModelWorkers } from "./check-request.ts";

/** Returns the context size of a model in tokens, including its answer: from the models file, else as its workers report it. Undefined if unknown. */
export async function contextTokensOf(
  {
    servedBy,
    fleet,
  }: {
    readonly servedBy: (model: string) => ServedBy | undefined;
    readonly fleet: Pick<ModelWorkers, "contextTokensOf">;
  },
  model: string,
): Promise<number | undefined> {
  return servedBy(model)?.contextTokens ?? (await fleet.contextTokensOf(model));
}
