import type { Capability, Dialect } from "@reprise/protocol";
import * as z from "zod";
import type { Upstream } from "./upstream.ts";

/** Of a longer list nothing is read. */
const MAX_BYTES = 1_048_576;

/** llama.cpp, and gateways: what goes in. Mistral: by name whether the model can. */
const modelSchema = z.object({
  id: z.string().optional(),
  architecture: z
    .object({ input_modalities: z.array(z.string()) })
    .optional()
    .catch(undefined),
  capabilities: z.record(z.string(), z.unknown()).optional().catch(undefined),
});
const listSchema = z.object({ data: z.array(modelSchema) });

/** The dialects whose `GET <base URL>/models` tells what goes into a model. Other servers are not asked. */
const TELLING: ReadonlySet<Dialect> = new Set(["llama.cpp", "mistral"]);

const BY_MODALITY: Readonly<Record<string, Capability>> = { image: "images", audio: "audio", file: "files" };
const BY_NAME: Readonly<Record<string, Capability>> = { vision: "images", audio: "audio" };

export function tells(dialect: Dialect): boolean {
  return TELLING.has(dialect);
}

/**
 * What a model server says that its model can do, beside what every model of such a server can.
 * @returns undefined where it does not answer now; nothing where it does not say
 */
export async function askCapabilities(
  upstream: Pick<Upstream, "get">,
  upstreamModel: string,
  signal: AbortSignal,
): Promise<readonly Capability[] | undefined> {
  try {
    const answer = await upstream.get("/models", signal);
    try {
      if (answer.status >= 500 || answer.status === 429) return undefined;
      return parseList(await answer.readStart(MAX_BYTES), upstreamModel);
    } finally {
      answer.release(false);
    }
  } catch {
    // It is away, or the worker stops: it is asked again, or never.
    return undefined;
  }
}

function parseList(text: string, upstreamModel: string): Capability[] {
  const { success, data: list } = listSchema.safeParse(tryParse(text));
  if (!success) return [];
  const { data: models } = list;
  // llama.cpp serves one model, whatever it is asked for.
  const model =
    models.find(({ id }) => id === upstreamModel) ?? (models.length === 1 ? models[0] : undefined);
  const modalities = model?.architecture?.input_modalities ?? [];
  const names = Object.entries(model?.capabilities ?? {}).flatMap(([name, can]) =>
    can === true ? [name] : [],
  );
  const found = [...modalities.map((name) => BY_MODALITY[name]), ...names.map((name) => BY_NAME[name])];
  return found.filter((name) => name !== undefined);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
