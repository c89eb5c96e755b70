import type { ArchiveReader } from "@reprise/archive";
import { type GenerationId, type GenerationRef, parseTenantId, RepriseError } from "@reprise/protocol";

/**
 * Whose a generation is.
 * @throws RepriseError `generation_not_found`; `invalid_request` when more than one tenant has it
 */
export async function findGeneration(
  reader: ArchiveReader,
  tenants: readonly string[],
  generation: GenerationId,
): Promise<GenerationRef> {
  const refs = tenants.map((tenant) => ({ tenant: parseTenantId(tenant), generation }));
  const found: GenerationRef[] = [];
  for (const ref of refs) if ((await reader.segmentsOf(ref, ["log"])).length > 0) found.push(ref);
  if (found.length > 1)
    throw new RepriseError("invalid_request", `${found.length} tenants have ${generation}: name one.`);
  const [ref] = found;
  if (!ref) throw new RepriseError("generation_not_found", `${generation} is not in the archive.`);
  return ref;
}
