import type { RouteContext } from "../routes/context.ts";

/** How many tokens a model takes, its answer among them: by the models file, else by its workers' word. Undefined: not known. */
export async function contextTokensOf(
  { servedBy, scale }: Pick<RouteContext, "servedBy" | "scale">,
  model: string,
): Promise<number | undefined> {
  return servedBy(model)?.contextTokens ?? (await scale.contextTokensOf(model));
}
