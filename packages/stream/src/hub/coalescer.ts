/** Does something for each of the items that were added, once however often they were, when the current tick is over. */
export class Coalescer<T> {
  readonly #act: (item: T) => void;
  readonly #items = new Set<T>();
  #isDue = false;

  /** @param act must not throw */
  constructor(act: (item: T) => void) {
    this.#act = act;
  }

  add(item: T): void {
    this.#items.add(item);
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isDue = false;
    for (const item of this.#items) this.#act(item);
    this.#items.clear();
  }
}
