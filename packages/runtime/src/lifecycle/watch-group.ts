import type { DependencyOptions, DependencyWatch, DependencyWatches } from "./dependency-watch.ts";

/** Dependencies of one kind, of which a configuration names any number. Each is watched from its first use on. */
export class WatchGroup {
  readonly #watches: DependencyWatches;
  readonly #toOptions: (member: string) => DependencyOptions;
  readonly #members = new Map<string, DependencyWatch>();

  constructor(watches: DependencyWatches, toOptions: (member: string) => DependencyOptions) {
    this.#watches = watches;
    this.#toOptions = toOptions;
  }

  of(member: string): DependencyWatch {
    const known = this.#members.get(member);
    if (known) return known;
    const watch = this.#watches.add(this.#toOptions(member));
    this.#members.set(member, watch);
    return watch;
  }

  /** Watches these from now on, and no others; what is known of those that stay is kept. */
  keep(members: Iterable<string>): void {
    const kept = new Set(members);
    for (const [member, watch] of this.#members) {
      if (kept.has(member)) continue;
      this.#watches.remove(watch);
      this.#members.delete(member);
    }
    for (const member of kept) this.of(member);
  }
}
