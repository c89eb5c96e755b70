import type { Derived, GenerationCache, Hub } from "@reprise/stream";
import type { Projection } from "@reprise/projections";
import { ProjectedFrames } from "./projected-frames.ts";
import type { Fold } from "./projection-fold.ts";
import { SharedFold } from "./shared-fold.ts";

/** Values of each cache, by name. */
type Kept<T> = WeakMap<GenerationCache, Map<string, T>>;

/** Projections of the generations that this node serves: folds, and frames by the projection's name and by whether they have ids. */
export class ProjectedCaches {
  readonly #hub: Pick<Hub, "readHistory">;
  readonly #frames: Kept<ProjectedFrames> = new WeakMap();
  readonly #folds: Kept<SharedFold<unknown>> = new WeakMap();

  constructor(hub: Pick<Hub, "readHistory">) {
    this.#hub = hub;
  }

  /**
   * The frames of a projection, shared by all its readers. Of projections with one name the first is used.
   * @throws RepriseError `cursor_expired` when the log has lost its beginning
   */
  of(cache: GenerationCache, projection: Projection<unknown>, { ids }: { ids: boolean }): ProjectedFrames {
    const make = () => new ProjectedFrames({ hub: this.#hub, cache, projection, ids });
    return keep(this.#frames, cache, `${projection.name} ${ids}`, make);
  }

  /**
   * A fold for answers that are one body, shared by all of them. Of folds with one name the first is used.
   * @throws RepriseError `cursor_expired` when the log has lost its beginning
   */
  foldOf<State>(cache: GenerationCache, fold: Fold<State>): SharedFold<State> {
    const make = (): SharedFold<unknown> => new SharedFold<State>(this.#hub, cache, fold);
    // The name says what its state is.
    return keep(this.#folds, cache, fold.name, make) as SharedFold<State>;
  }
}

function keep<T extends Derived>(kept: Kept<T>, cache: GenerationCache, name: string, make: () => T): T {
  let byName = kept.get(cache);
  if (!byName) kept.set(cache, (byName = new Map()));
  const found = byName.get(name);
  if (found) return found;
  const made = make();
  byName.set(name, made);
  cache.attach(made);
  return made;
}
