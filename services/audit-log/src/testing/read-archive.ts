import {
  type Archive,
  type Keyring,
  openSegment,
  readSegmentFile,
  type SegmentHeader,
} from "@reprise/archive";

/** A message that was archived, and where it was found. */
export interface FoundMessage {
  readonly header: SegmentHeader;
  readonly streamSeq: number;
  readonly payload: string;
}

/** Everything that an archive holds, in the order of its files. */
export async function readWholeArchive(archive: Archive, keyring: Keyring): Promise<FoundMessage[]> {
  const found: FoundMessage[] = [];
  for (const tenant of archive.state.tenants()) {
    for (const { key } of archive.state.files(tenant)) {
      const bytes = await archive.store.get(key);
      if (!bytes) throw new Error(`${key} is missing`);
      for (const segment of await readSegmentFile(bytes)) {
        const { header } = segment;
        if (!key.startsWith(`data/tenant=${header.tenant}/`)) throw new Error(`${header.tenant} in ${key}`);
        const dataKey = await keyring.open(header.tenant, header.kid);
        if (typeof dataKey === "string") throw new Error(`the key ${header.kid} is ${dataKey}`);
        for (const { streamSeq, payload } of openSegment(segment, dataKey))
          found.push({ header, streamSeq, payload: Buffer.from(payload).toString() });
      }
    }
  }
  return found;
}
