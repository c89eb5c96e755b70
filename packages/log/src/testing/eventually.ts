import { vi } from "vitest";

/** What a check returns as soon as it no longer throws; its last error after 10 s. For what a broker does in its own time. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 10_000, interval: 10 });
}
