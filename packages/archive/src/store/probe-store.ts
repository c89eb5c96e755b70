import { randomBytes } from "node:crypto";
import type { BlobStore } from "./blob-store.ts";

/**
 * Whether a store refuses to create an object that is there. Some answer a conditional put as if nothing had been asked.
 * @throws RepriseError `archive_unavailable`
 */
export async function probeStore(store: BlobStore): Promise<"conditional" | "unconditional"> {
  const key = `_probe/${randomBytes(12).toString("hex")}`;
  await store.create(key, Buffer.from("first"));
  const second = await store.create(key, Buffer.from("second"));
  const there = await store.get(key);
  await store.delete(key);
  return second === "exists" && Buffer.from(there ?? []).toString() === "first"
    ? "conditional"
    : "unconditional";
}
