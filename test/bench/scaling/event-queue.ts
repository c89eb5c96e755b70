/** Events by time, and those of one time in the order in which they were added: a run is the same every time. */
export class EventQueue<T> {
  readonly #heap: { readonly atMs: number; readonly order: number; readonly event: T }[] = [];
  #added = 0;

  add(atMs: number, event: T): void {
    const heap = this.#heap;
    const added = { atMs, order: this.#added++, event };
    let at = heap.length;
    heap.push(added);
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(added, heap[parent]!); parent = (at - 1) >> 1) {
      heap[at] = heap[parent]!;
      at = parent;
      heap[at] = added;
    }
  }

  /** Takes the next event out; undefined when there is none. */
  next(): { readonly atMs: number; readonly event: T } | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
