import { type GenerationLog, isExpiredOrErased } from "@reprise/stream";
import { decodeEvent, generationNotFound, type GenerationRef, parseGenerationId } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";

/**
 * The generation that a call names, where its caller may know of it. The token of an end user reaches that user's generations alone, which
 * their logs say; one that is no longer kept can't be told from another user's.
 * @throws RepriseError `generation_not_found` for every generation out of the caller's reach, as for one that does not exist;
 *   `broker_unavailable`
 */
export async function accessGeneration(
  { reader }: Pick<GenerationLog, "reader">,
  { tenant, generation: bound, endUser }: Principal,
  id: string,
): Promise<GenerationRef> {
  const ref = { tenant, generation: parseGenerationId(id) };
  if (bound !== undefined && bound !== ref.generation) throw generationNotFound();
  if (endUser !== undefined && (await readEndUser(reader, ref)) !== endUser) throw generationNotFound();
  return ref;
}

/**
 * Whose a generation is; undefined for one that is no end user's, or that has no log.
 * @throws RepriseError `broker_unavailable`
 */
async function readEndUser(reader: GenerationLog["reader"], ref: GenerationRef): Promise<string | undefined> {
  try {
    const first = await reader.readFirst(ref);
    const event = first && decodeEvent(first.payload);
    return event?.type === "generation.requested" ? event.request.end_user : undefined;
  } catch (error) {
    if (isExpiredOrErased(error)) return undefined;
    throw error;
  }
}
