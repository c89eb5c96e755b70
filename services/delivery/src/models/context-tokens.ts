import type { ServedBy } from "@reprise/protocol";
import type { ModelWorkers } from "./check-request.ts";

/** How many tokens a model takes, its answer among them: by the models file, else by its workers' word. Undefined: not known. */
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
