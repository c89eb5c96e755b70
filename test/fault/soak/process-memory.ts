/** What a process holds after a garbage collection. */
export interface ProcessMemory {
  readonly heapBytes: number;
  /** Buffers, outside of the heap. */
  readonly externalBytes: number;
  readonly descriptors: number;
}

/** One sample of the platform. */
export interface MemorySample extends ProcessMemory {
  /** Generations that were begun before it. */
  readonly generations: number;
  /** nats-server's resident memory. */
  readonly brokerBytes: number;
}
