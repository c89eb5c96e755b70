import { type Archive, ArchiveReader, type Keyring } from "@reprise/archive";
import { type GenerationRef, parseGenerationId, parseTenantId, RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import type { Command } from "commander";
import { type ReadingValues, withReading } from "./commands/access.ts";
import { openArchiveCopy, openKeyringCopy } from "./options.ts";

/** Adds the options of commands that show something of one generation. */
export function withGeneration(command: Command): Command {
  command
    .requiredOption("--generation <id>", "which generation")
    .option("--tenant <id>", "default: whose it is");
  return withReading(command);
}

export interface GenerationValues extends ReadingValues {
  readonly generation: string;
  readonly tenant?: string;
}

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
  values: GenerationValues,
  env: CommandIo["env"],
): Promise<OpenGeneration> {
  const generation = parseGenerationId(values.generation);
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
