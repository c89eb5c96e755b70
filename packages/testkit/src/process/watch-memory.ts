import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Memory that this process uses beyond that of the first measurement. */
export interface MemoryWatch {
  /** Collects, and takes down what is in use. */
  readonly sample: () => void;
  /** The most that a sample has found, in bytes. */
  readonly most: () => number;
}

let collect: (() => void) | undefined;

/** Measures heap and buffers after a collection, because memory that could be freed is not needed. */
export function watchMemory(): MemoryWatch {
  const before = bytesInUse();
  let most = 0;
  return { sample: () => void (most = Math.max(most, bytesInUse() - before)), most: () => most };
}

function bytesInUse(): number {
  if (!collect) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
  // The first one frees buffers beside what runs, the second one waits for that.
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
