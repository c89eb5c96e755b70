import { type FaultWorld, startFaultWorld } from "../world/fault-world.ts";
import type { WorldOptions } from "../world/world-options.ts";

/** Keeps a world for the rows that follow, as long as they ask for the same: most of a short row's time is the start of its world. */
export class WorldPool implements AsyncDisposable {
  #world: FaultWorld | undefined;

  /** The world that is there, if it is such a one, or a new one in its place. */
  async take(options: WorldOptions): Promise<FaultWorld> {
    if (this.#world && toKey(this.#world.options) === toKey(options)) return this.#world;
    await this.discard();
    this.#world = await startFaultWorld(options);
    return this.#world;
  }

  /** After a trial that hung, whose rest might disturb the next one. */
  async discard(): Promise<void> {
    const world = this.#world;
    this.#world = undefined;
    await world?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }
}

/** Rows write their options down in the same order. */
function toKey(options: WorldOptions): string {
  return JSON.stringify(options);
}
