import { RepriseError } from "@reprise/protocol";
import type { BlobStore } from "../store/blob-store.ts";

export type StoreMethod = "get" | "put" | "create" | "delete" | "list";

/**
 * `before`: it fails and nothing has happened. `after`: it has happened, and yet it fails. `hang`: nothing happens and no answer comes.
 * A number: it waits this many milliseconds first.
 */
export type StoreFault = "before" | "after" | "hang" | number;

export interface StoreCall {
  readonly method: StoreMethod;
  /** A listing's prefix. */
  readonly key: string;
  /** Number of calls before. */
  readonly n: number;
}

/** Asked at each call; undefined lets it through. */
export type FaultPlan = (call: StoreCall) => StoreFault | undefined;

/** A store whose calls fail as a plan says. A listing fails before its first object, or after its last. */
export function createFaultyStore(store: BlobStore, plan: FaultPlan): BlobStore {
  let calls = 0;
  const begin = async (method: StoreMethod, key: string): Promise<StoreFault | undefined> => {
    const fault = plan({ method, key, n: calls++ });
    if (fault === "before") throw failure(method, key);
    if (fault === "hang") await new Promise<never>(() => {});
    if (typeof fault === "number") await new Promise((resolve) => setTimeout(resolve, fault));
    return fault;
  };
  const around = async <T>(method: StoreMethod, key: string, work: () => Promise<T>): Promise<T> => {
    const fault = await begin(method, key);
    const result = await work();
    if (fault === "after") throw failure(method, key);
    return result;
  };
  return {
    get: (key, range) => around("get", key, () => store.get(key, range)),
    put: (key, bytes) => around("put", key, () => store.put(key, bytes)),
    create: (key, bytes) => around("create", key, () => store.create(key, bytes)),
    delete: (key) => around("delete", key, () => store.delete(key)),
    async *list(prefix, after) {
      const fault = await begin("list", prefix);
      yield* store.list(prefix, after);
      if (fault === "after") throw failure("list", prefix);
    },
  };
}

/** Fails calls at random, half of them after they have happened. @param random at least 0, less than 1 */
export function randomFaults(random: () => number, probability: number): FaultPlan {
  return () => {
    if (random() >= probability) return undefined;
    return random() < 0.5 ? "before" : "after";
  };
}

/** Fails this call and all later ones, like a process that dies. */
export function dyingAt(n: number, when: "before" | "after"): FaultPlan {
  return (call) => {
    if (call.n < n) return undefined;
    return call.n === n ? when : "before";
  };
}

function failure(method: StoreMethod, key: string): RepriseError {
  return new RepriseError("archive_unavailable", `The faulty store: ${method} ${key}.`);
}
