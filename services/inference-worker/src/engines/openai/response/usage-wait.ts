/** From an answer's finish reason to its usage: what comes later is not waited for. */
export const USAGE_WAIT_MS = 1_000;

export interface UsageWait<T> extends Disposable {
  /** The next message; `done` at the end of the stream, and when the wait is over. */
  next(): Promise<IteratorResult<T, unknown>>;
  /** From now on no message is waited for longer than `USAGE_WAIT_MS` in all. */
  waitForUsage(): void;
}

/** The messages of an answer whose connection may stay open behind its last word. */
export function createUsageWait<T>(messages: AsyncIterable<T>): UsageWait<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  let over: Promise<IteratorReturnResult<undefined>> | undefined;
  return {
    next: () => (over ? Promise.race([iterator.next(), over]) : iterator.next()),
    waitForUsage() {
      const { promise, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>();
      timer = setTimeout(() => resolve({ done: true, value: undefined }), USAGE_WAIT_MS);
      over = promise;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      // Not awaited: it ends behind a message that may never come. What breaks by then has no reader.
      iterator.return?.().catch(() => undefined);
    },
  };
}
