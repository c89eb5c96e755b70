import { type Price, priceSchema } from "@reprise/facts";
import { parseConfigFile, readConfigFile } from "@reprise/runtime";
import * as z from "zod";

/** By the public name of the model that served. */
export type Prices = ReadonlyMap<string, Price>;

/** The part of the models file that analytics reads; the rest is for the workers. */
const fileSchema = z.looseObject({
  models: z.record(z.string(), z.looseObject({ price: priceSchema.optional() })),
});

/**
 * The prices of a models file.
 * @param path without one no model has a price
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadPrices(path: string | undefined): Promise<Prices> {
  if (path === undefined) return new Map();
  const { models } = parseConfigFile(await readConfigFile(path), { source: path, schema: fileSchema });
  return new Map(
    Object.entries(models).flatMap(([name, { price }]) => (price ? [[name, price] as const] : [])),
  );
}
