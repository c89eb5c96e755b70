import { vi } from "vitest";

/** What a check returns as soon as it no longer throws; its last error after 60 s. For what a broker does in its own time. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 60_000, interval: 10 });
}
