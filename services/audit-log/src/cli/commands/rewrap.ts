import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileStore, parseMasterKey, rewrapKeys } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { openMasterKeyFile } from "../../storage.ts";
import { type ArchiveValues, keysDir } from "../options.ts";

/** Changes the master key. What was sealed stays as it is. */
export const rewrap: MakeCommand = (io) =>
  new Command("rewrap")
    .description("puts all keys under another master key; stop the audit log first")
    .requiredOption("--new-master-key-file <file>", "made when it is missing")
    .option(
      "--master-key-file <file>",
      "the one that it is now; default: master.key in the folder of the keys",
    )
    .option("--keys <folder>", "default: $REPRISE_AUDIT_KEYS_DIR, or audit-keys in the data folder")
    .addHelpText("after", "\nIf it was interrupted, call it again with the same two files.")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends Pick<ArchiveValues, "keys" | "masterKeyFile"> {
  readonly newMasterKeyFile: string;
}

async function run(values: Values, { out, env }: CommandIo): Promise<number> {
  const dir = keysDir(values, env);
  const oldFile = values.masterKeyFile ?? join(dir, "master.key");
  const newFile = values.newMasterKeyFile;
  const text = await readFile(oldFile, "utf8").catch((cause: unknown) => {
    throw new RepriseError("config_invalid", `${oldFile} can't be read.`, { cause });
  });
  const tenants = await rewrapKeys({
    store: createFileStore(join(dir, "wrapped")),
    oldMasterKey: parseMasterKey(text),
    newMasterKey: await openMasterKeyFile(newFile),
  });
  await writeLine(out, `The keys of ${tenants} tenants were put under the key in ${newFile}.`);
  return EXIT.fine;
}
