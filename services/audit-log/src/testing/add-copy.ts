import { createHash, randomBytes } from "node:crypto";
import { type BlobCopy, copyKey, sealCopy } from "@reprise/archive";
import { asStreamSeq } from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import type { FilledArchive } from "./filled-archive.ts";

export interface AddedCopy {
  readonly tenant: string;
  readonly blob: string;
  readonly at?: string;
  readonly subject?: string;
  readonly generation?: string;
}

/** Has an archive hold the bytes of a blob, as the archiver does. */
export async function addCopy(
  { archive, keyring }: FilledArchive,
  content: Uint8Array,
  { tenant, blob, at = new Date().toISOString(), subject, generation }: AddedCopy,
): Promise<BlobCopy> {
  const key = await keyring.keyFor({ tenant, generation: generation ?? "-", subject });
  await keyring.flush();
  const place = { tenant, blob, epoch: 0, streamSeq: asStreamSeq(1) };
  const draft = {
    at,
    ...(subject !== undefined && { tag: await keyring.tag(tenant, subjectTag(subject)) }),
    ...(generation !== undefined && { generation }),
    blob,
    key: copyKey(place, randomBytes(8).toString("hex")),
    salt: randomBytes(16).toString("hex"),
  };
  const pieces = async function* () {
    yield content;
  };
  const described = {
    blob,
    type: "image/png",
    bytes: content.length,
    sha256: createHash("sha256").update(content).digest("hex"),
    content: pieces(),
  };
  const copy = (await sealCopy(archive.store, draft, described, key))!;
  await archive.append(() => ({
    tenants: [{ tenant, leaves: [], files: [], removes: [], records: [copy] }],
  }));
  return copy;
}
