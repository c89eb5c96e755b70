/** What is made of a cache's events and kept beside them: it can be had again, and counts as the cache's memory. */
export interface Derived {
  /** Memory held, in bytes, about. */
  readonly bytes: number;
  /** Lets go of what no reader needs at once. */
  trim(): void;
  /** Lets go of everything: the events are erased. */
  forget(): void;
}
