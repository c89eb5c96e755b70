import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import type { BlobStore } from "./blob-store.ts";
import { IF_NONE_MATCH } from "./s3-store.ts";

/**
 * Whether a store refuses to create an object that is there. Some answer a conditional put as if nothing had been asked, and some refuse to
 * answer one at all. A store that fails is asked again later: two processes that take it for different things would not keep each other out.
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
