import { describeBlobStore } from "./blob-store-conformance.ts";
import { createMemoryStore } from "./memory-store.ts";

describeBlobStore("a store in memory", async () => {
  const objects = new Map<string, Uint8Array>();
  return {
    open: () => createMemoryStore(objects),
    [Symbol.asyncDispose]: async () => objects.clear(),
  };
});
