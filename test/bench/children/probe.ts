import { serveParent } from "./serve-parent.ts";

/*
 * Loaded in front of a service's own main.ts (`node --import probe.ts main.ts`): lets the bench collect garbage before it
 * reads memory, and ends the service when the bench is gone. Otherwise the service is what it is in production.
 */
serveParent({
  collectGarbage() {
    globalThis.gc?.();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return { heapBytes: heapUsed + external };
  },
});
process.channel?.unref();
