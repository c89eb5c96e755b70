import { toRepriseError } from "@reprise/protocol";
import type { DependencyWatch } from "@reprise/runtime";

/** Watches if the store takes the writes of all parts of the service: it is back when none of them fails any more. */
export class StoreHealth {
  readonly #watch: Pick<DependencyWatch, "failed" | "worked">;
  readonly #failing = new Set<string>();

  constructor(watch: Pick<DependencyWatch, "failed" | "worked">) {
    this.#watch = watch;
  }

  /**
   * @param part such as a stream's lane
   * @returns whether the error has no line of its own: the store's has it as its reason
   */
  failed(part: string, error: unknown): boolean {
    const { code, message } = toRepriseError(error);
    if (code !== "archive_unavailable" && code !== "archive_corrupt") return false;
    const isKnown = this.#failing.has(part);
    this.#failing.add(part);
    this.#watch.failed(message);
    return isKnown || code === "archive_unavailable";
  }

  worked(part: string): void {
    this.#failing.delete(part);
    if (this.#failing.size === 0) this.#watch.worked();
  }

  /** This process has nothing to do with the part any more. */
  forget(part: string): void {
    if (this.#failing.delete(part) && this.#failing.size === 0) this.#watch.worked();
  }
}
