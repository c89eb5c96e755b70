import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileStore, parseMasterKey, rewrapKeys } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { parseOptions, required } from "@reprise/service";
import { type Command, EXIT, writeLine } from "../command.ts";
import { openMasterKeyFile } from "../../master-key-file.ts";
import { ARCHIVE_OPTIONS, keysDir } from "../options.ts";

/** Changes the master key. What was sealed stays as it is. */
export const rewrap: Command = {
  summary: "puts all keys under another master key; stop the audit log first",
  usage: `  --new-master-key-file <file>   made when it is missing
  --master-key-file <file>       the one that it is now; default: master.key in the folder of the keys
  --keys <folder>                default: $REPRISE_AUDIT_KEYS_DIR, or audit-keys in the data folder
  When it was interrupted, call it again with the same two files.`,

  async run(args, { out, env }) {
    const { values } = parseOptions(args, {
      ...ARCHIVE_OPTIONS,
      "new-master-key-file": { type: "string" },
    });
    const dir = keysDir(values, env);
    const oldFile = values["master-key-file"] ?? join(dir, "master.key");
    const newFile = required(values["new-master-key-file"], "new-master-key-file");
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
  },
};
