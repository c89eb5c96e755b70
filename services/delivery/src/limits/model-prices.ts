import { priceSchema } from "@reprise/metering";
import { parseConfigFile, readConfigFile } from "@reprise/service";
import type { ModelPrices } from "@reprise/tenancy";
import * as z from "zod";

/** What a generation may cost that asks for a model. */
export interface ModelCosts {
  /** The model, and its fallback where it has one. */
  readonly models: readonly string[];
  /** Of these, those that have a price. */
  readonly prices: ModelPrices;
}

/** By the public name of the model that is asked for. */
export type ModelCatalogue = ReadonlyMap<string, ModelCosts>;

/** What else the file says is the workers' own. */
const fileSchema = z.looseObject({
  models: z.record(
    z.string(),
    z.looseObject({ price: priceSchema.optional(), fallback: z.string().optional() }),
  ),
});

/**
 * What the models of a models file cost.
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
      return [name, { models: both, prices: Object.fromEntries(priced) }];
    }),
  );
}
