import { createMasterKey, parseMasterKey } from "@reprise/archive";
import { openSecretFile } from "@reprise/runtime";

/** The master key in a file, which is made when it is missing. @throws RepriseError `config_invalid` */
export async function openMasterKeyFile(path: string): Promise<Uint8Array> {
  return parseMasterKey(await openSecretFile(path, createMasterKey));
}
