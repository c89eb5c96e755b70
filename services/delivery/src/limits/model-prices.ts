import { priceSchema } from "@reprise/facts";
import { parseConfigFile, readConfigFile } from "@reprise/runtime";
import { maxOutputTokensSchema, type ModelPrices, UNSEEN_TOKENS } from "@reprise/tenancy";
import * as z from "zod";

/** Prices by which the cost of a generation is estimated, for one model. */
export interface ModelCosts {
  /** The model, and its fallback where it has one. */
  readonly models: readonly string[];
  /** Prices of the models that have one. */
  readonly prices: ModelPrices;
  /** Tokens of output that one of them may make without showing them. Default 0. */
  readonly unseen?: number;
}

/** By the public name of the model that is asked for. */
export type ModelCatalogue = ReadonlyMap<string, ModelCosts>;

/** The file's other fields belong to the workers. */
const fileSchema = z.looseObject({
  models: z.record(
    z.string(),
    z.looseObject({
      price: priceSchema.optional(),
      fallback: z.string().optional(),
      engine: z.string().optional(),
      max_output_tokens: maxOutputTokensSchema.optional(),
    }),
  ),
});

/** The simulator shows all that it makes. */
function unseenOf(model: z.infer<typeof fileSchema>["models"][string] | undefined): number {
  return model?.engine === "openai" ? (model.max_output_tokens ?? UNSEEN_TOKENS) : 0;
}

/**
 * Prices of the models of a models file, and the tokens that budgets reserve for them.
 * @param path without one no model has a price
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadModelCosts(path: string | undefined): Promise<ModelCatalogue> {
  if (path === undefined) return new Map();
  const { models } = parseConfigFile(await readConfigFile(path), { source: path, schema: fileSchema });
  const prices = new Map(Object.entries(models).map(([name, { price }]) => [name, price]));
  return new Map(
    Object.entries(models).map(([name, { fallback }]) => {
      const both = fallback === undefined ? [name] : [name, fallback];
      const priced = both.flatMap((model) => {
        const price = prices.get(model);
        return price ? [[model, price] as const] : [];
      });
      const unseen = Math.max(...both.map((model) => unseenOf(models[model])));
      return [name, { models: both, prices: Object.fromEntries(priced), unseen }];
    }),
  );
}
