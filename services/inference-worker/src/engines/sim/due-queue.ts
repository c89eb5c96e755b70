/** Something that is due at a time, in milliseconds of any one clock. */
export interface Due {
  readonly atMs: number;
}

/** A queue that gives first what is due first: a binary heap, O(log n) per entry. */
export class DueQueue<T extends Due> {
  #heap: T[] = [];

  get first(): T | undefined {
    return this.#heap[0];
  }

  clear(): void {
    this.#heap = [];
  }

  push(entry: T): void {
    const heap = this.#heap;
    let hole = heap.length;
    heap.push(entry);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      // `parent` is less than `hole`, which is in the heap.
      if (heap[parent]!.atMs <= entry.atMs) break;
      // `parent` is in the heap, as above.
      heap[hole] = heap[parent]!;
      hole = parent;
    }
    heap[hole] = entry;
  }

  shift(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      // `child`, and `child + 1` where it is read, are less than the heap's length.
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child++;
      // `child` is less than the heap's length.
      if (heap[child]!.atMs >= last.atMs) break;
      // `child` is less than the heap's length.
      heap[hole] = heap[child]!;
      hole = child;
    }
    heap[hole] = last;
    return first;
  }
}
