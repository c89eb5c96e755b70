import { RepriseError } from "@reprise/protocol";
import type { BlobStore } from "../store/blob-store.ts";
import { type Commit, commitSchema } from "./commit.ts";
import { commitKey } from "../store/paths.ts";

export interface StoredCommit {
  readonly commit: Commit;
  /** The commit's bytes as stored. */
  readonly bytes: Uint8Array;
}

const READ_AHEAD = 16;

/**
 * All commits from a number on. Reads ahead once it is known that there is more than one.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function* readCommits(
  store: Pick<BlobStore, "get">,
  from: number,
): AsyncGenerator<StoredCommit> {
  const read = (n: number) => {
    const bytes = store.get(commitKey(n));
    // It is awaited later, or, after the end, not at all.
    bytes.catch(() => {});
    return bytes;
  };
  const ahead = [read(from)];
  for (let n = from; ; n++) {
    // Before the first turn one read is there, and each turn leaves READ_AHEAD.
    const bytes = await ahead.shift()!;
    if (!bytes) return;
    while (ahead.length < READ_AHEAD) ahead.push(read(n + 1 + ahead.length));
    yield { commit: parseCommit(bytes, n), bytes };
  }
}

/** @throws RepriseError `archive_corrupt` */
export function parseCommit(bytes: Uint8Array, n: number): Commit {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw new RepriseError("archive_corrupt", `Commit ${n} is not JSON.`);
  }
  const parsed = commitSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RepriseError("archive_corrupt", `Commit ${n}: ${issue?.path.join(".")}: ${issue?.message}`);
}
