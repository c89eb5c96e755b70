import { RepriseError } from "@reprise/protocol";
import type { BlobCopy } from "../commit/record.ts";
import { openCopy, readCopy } from "../copies/open-copy.ts";
import type { DataKey } from "../keys/keyring.ts";
import type { FileOptions } from "./verify-files.ts";

/** Copies that are part of the archive, by key, and which commit has named each. */
export type ClaimedCopies = ReadonlyMap<string, { readonly n: number; readonly copy: BlobCopy }>;

/**
 * Holds a tenant's copies of blobs against what the commits say: each is there as it was written, and holds what it is a copy of. A part of one is in
 * memory at a time.
 * @returns how many were looked at
 * @throws RepriseError `archive_unavailable`
 */
export async function verifyCopies(
  tenant: string,
  copies: ClaimedCopies,
  options: Omit<FileOptions, "broken">,
): Promise<number> {
  const { store, findings, destroyedKids, since } = options;
  let looked = 0;
  for (const { n, copy } of copies.values()) {
    if (n < since) continue;
    // What is left of it is unreadable, and may be gone.
    if (destroyedKids.has(copy.kid)) {
      await checkDestroyed(tenant, copy, options);
      continue;
    }
    looked++;
    try {
      const key = await findKey(tenant, copy, options);
      const parts = readCopy(store, copy);
      for await (const part of key ? openCopy(copy, parts, key) : parts) void part;
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "archive_corrupt") throw error;
      findings.add("tampered", copy.key, error.message);
    }
  }
  return looked;
}

async function checkDestroyed(
  tenant: string,
  { kid, key }: BlobCopy,
  { keyring, findings }: Pick<FileOptions, "keyring" | "findings">,
): Promise<void> {
  const there = await keyring?.open(tenant, kid);
  if (typeof there === "object") findings.add("tampered", key, "its key was destroyed, and is there again");
}

/** Undefined where it can't be opened, which is said where no record explains it. */
async function findKey(
  tenant: string,
  { kid, key, generation }: BlobCopy,
  { keyring, findings, erased }: Pick<FileOptions, "keyring" | "findings" | "erased">,
): Promise<DataKey | undefined> {
  const there = await keyring?.open(tenant, kid);
  if (typeof there !== "string") return there;
  if (there === "unknown") findings.add("unknown", key, "its key is not at hand");
  else if (generation === undefined || !erased.has(generation))
    findings.add("unknown", key, "its key is destroyed, and no record says why");
  return undefined;
}
