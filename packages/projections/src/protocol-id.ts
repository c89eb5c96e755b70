import { type GenerationId, generationNotFound, isGenerationId, shardOf } from "@reprise/protocol";

/** Prefix of the ids of a protocol's runs. */
export type ProtocolPrefix = "chatcmpl-" | "resp_";

const SUFFIX_LENGTH = 26;

/**
 * A generation's id in the form of a protocol: the prefix, the 26 characters of the native id and its shard. `gen_3_<26>` is `chatcmpl-<26>3`.
 */
export function toProtocolId(prefix: ProtocolPrefix, generation: GenerationId): string {
  return `${prefix}${generation.slice(-SUFFIX_LENGTH)}${shardOf(generation)}`;
}

/**
 * Returns the generation that an id of a protocol names. A native id is returned unchanged.
 * @throws RepriseError `generation_not_found`: an id that the platform did not make belongs to no generation
 */
export function parseProtocolId(prefix: ProtocolPrefix, id: unknown): GenerationId {
  if (isGenerationId(id)) return id;
  if (typeof id !== "string" || !id.startsWith(prefix)) throw generationNotFound();
  const name = id.slice(prefix.length);
  const native = `gen_${name.slice(SUFFIX_LENGTH)}_${name.slice(0, SUFFIX_LENGTH)}`;
  if (isGenerationId(native)) return native;
  throw generationNotFound();
}
