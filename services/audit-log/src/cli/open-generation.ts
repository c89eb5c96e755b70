import type { ParseArgsConfig } from "node:util";
import { type Archive, ArchiveReader, type Keyring } from "@reprise/archive";
import { type GenerationRef, parseGenerationId, parseTenantId, RepriseError } from "@reprise/protocol";
import { type CommandIo, required } from "@reprise/service";
import { READING_OPTIONS } from "./commands/access.ts";
import { openArchiveCopy, openKeyringCopy, type ValuesOf } from "./options.ts";

/** For commands that show something of one generation. */
export const GENERATION_OPTIONS = {
  ...READING_OPTIONS,
  generation: { type: "string" },
  tenant: { type: "string" },
} as const satisfies ParseArgsConfig["options"];

export const GENERATION_USAGE = `  --generation <id>
  --tenant <id>               default: whose it is`;

export interface OpenGeneration {
  readonly ref: GenerationRef;
  readonly archive: Archive;
  readonly keyring: Keyring;
  readonly reader: ArchiveReader;
}

/**
 * Opens the copy of an archive, and finds out whose the generation is.
 * @throws RepriseError `invalid_request`, when more than one tenant has it too; `generation_not_found`, `archive_corrupt`,
 *   `archive_unavailable`, `config_invalid`
 */
export async function openGeneration(
  values: ValuesOf<typeof GENERATION_OPTIONS>,
  env: CommandIo["env"],
): Promise<OpenGeneration> {
  const generation = parseGenerationId(required(values.generation, "generation"));
  const archive = await openArchiveCopy(values, env);
  const keyring = await openKeyringCopy(values, env);
  const reader = new ArchiveReader({ archive, keyring });
  const tenants = values.tenant === undefined ? archive.state.tenants() : [values.tenant];
  const found: GenerationRef[] = [];
  for (const tenant of tenants) {
    const ref = { tenant: parseTenantId(tenant), generation };
    if ((await reader.segmentsOf(ref, ["log"])).length > 0) found.push(ref);
  }
  if (found.length > 1)
    throw new RepriseError("invalid_request", `${found.length} tenants have ${generation}: name one.`);
  const [ref] = found;
  if (!ref) throw new RepriseError("generation_not_found", `${generation} is not in the archive.`);
  return { ref, archive, keyring, reader };
}
