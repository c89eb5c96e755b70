import type { BlobStore } from "@reprise/archive";

/** After how many calls that change something the process dies, and on which side of the last one. Shared by the stores of a process. */
export interface Crash {
  calls: number;
  readonly when: string;
}

/** A store that kills its process, as a power switch would, in the middle of other work. 0 calls are none. */
export function createCrashingStore(store: BlobStore, crash: Crash): BlobStore {
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    crash.calls--;
    const isLast = crash.calls === 0;
    if (isLast && crash.when === "before") await die();
    const result = await work();
    if (isLast) await die();
    return result;
  };
  return {
    get: (key, range) => store.get(key, range),
    list: (prefix) => store.list(prefix),
    put: (key, bytes) => around(() => store.put(key, bytes)),
    create: (key, bytes) => around(() => store.create(key, bytes)),
    delete: (key) => around(() => store.delete(key)),
  };
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}
