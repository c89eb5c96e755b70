/** Where a producer process puts tokens: what each target brings, so that the schedule is the same code for all. */
export interface Sink {
  /** Begins a stream and answers with its id. */
  open(): Promise<string>;
  /** Takes a token. Never waits: what the target can't take yet queues up, and shows as latency. */
  append(id: string, text: string): void;
  /** Resolves when all tokens of the stream are where a late reader would find them. */
  stored(id: string): Promise<void>;
}
