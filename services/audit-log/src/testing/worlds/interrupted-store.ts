import type { BlobStore } from "@reprise/archive";

/** Counts changes of stores down to the one at which their process ends. */
export interface Interruption {
  /** Changes until then. */
  left: number;
  /** Moment of the end: before or after the last change. */
  readonly when: "before" | "after";
}

/** A store whose process ends at one of its changes: that call and all later ones fail. */
export function createInterruptedStore(store: BlobStore, interruption: Interruption): BlobStore {
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    interruption.left--;
    if (interruption.left < 0 || (interruption.left === 0 && interruption.when === "before")) throw ended();
    const result = await work();
    if (interruption.left === 0) throw ended();
    return result;
  };
  return {
    get: (key, range) => store.get(key, range),
    list: (prefix) => store.list(prefix),
    put: (key, bytes) => change(() => store.put(key, bytes)),
    create: (key, bytes) => change(() => store.create(key, bytes)),
    delete: (key) => change(() => store.delete(key)),
  };
}

function ended(): Error {
  return new Error("the process has ended here");
}
