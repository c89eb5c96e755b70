import { setFlagsFromString } from "node:v8";

/**
 * By default V8 collects the whole heap for every 64 MB of Buffers that were allocated since the last time, however short they lived. A
 * request of 1 MB makes 15 MB of them on its way through a worker, and the collector took more CPU than the request. With this flag
 * Buffers count towards the limit that V8 sets for the heap, in proportion to what is alive: those that die young are left to the short
 * collections, and up to about 130 MB more of them wait for one. `docs/benchmarks.md` has the figures.
 *
 * V8 reads this flag whenever it compares with the limit, so that it can be set in a process that runs. It is not among those that
 * `NODE_OPTIONS` takes.
 */
export function countBuffersInHeapLimit(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}
