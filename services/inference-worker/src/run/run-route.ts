import type { Server } from "../engines/engine.ts";

/** Which servers a run has met. Another attempt goes to a server that has not failed it yet, where there is one. */
export class RunRoute {
  readonly #avoid = new Set<string>();
  #last: string | undefined;

  get avoid(): ReadonlySet<string> {
    return this.#avoid;
  }

  took({ id }: Server): void {
    this.#last = id;
  }

  /** The attempt has failed at the server that it met last. */
  failed(): void {
    if (this.#last !== undefined) this.#avoid.add(this.#last);
    this.#last = undefined;
  }
}
