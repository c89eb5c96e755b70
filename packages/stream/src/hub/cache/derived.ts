/** Data derived from a cache's events and kept with them: it can be derived again, and counts as the cache's memory. */
export interface Derived {
  /** Memory held, in bytes, about. */
  readonly bytes: number;
  /** Lets go of what no reader needs at once. */
  trim(): void;
  /** Lets go of everything: the events are erased. */
  forget(): void;
}
