import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import type { BlobStore } from "./blob-store.ts";
import { IF_NONE_MATCH } from "./s3-store.ts";

/**
 * Tells if a store refuses to create an object that exists. Some stores ignore the condition of a conditional put, and some refuse
 * conditional puts altogether. A store that fails is asked again later: two processes that disagree about it would not exclude each other.
 * @throws RepriseError `archive_unavailable`
 */
export async function probeStore(store: BlobStore): Promise<"conditional" | "unconditional"> {
  const key = `_probe/${randomBytes(12).toString("hex")}`;
  const first = Buffer.from("first");
  await store.put(key, first);
  try {
    const second = await store.create(key, Buffer.from("second"));
    const there = await store.get(key);
    const isKept = there !== undefined && first.equals(there);
    return second === "exists" && isKept ? "conditional" : "unconditional";
  } catch (error) {
    if (error instanceof RepriseError && error.param === IF_NONE_MATCH) return "unconditional";
    throw error;
  } finally {
    await store.delete(key);
  }
}
