export interface QuietWait<T> extends Disposable {
  /** True if a silence has ended the body. */
  readonly wasSilent: boolean;
  /** Returns the next piece; `done` at the end of the body, and when a silence is over. */
  next(): Promise<IteratorResult<T, unknown>>;
  /** Ends the body when `silenceMs` have passed without a further call; undefined: it has no end of that kind. */
  expect(silenceMs: number | undefined): void;
}

/** Reads the pieces of an answer whose connection may stay open after its last word. */
export function createQuietWait<T>(pieces: AsyncIterable<T>): QuietWait<T> {
  const iterator = pieces[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  let over: Promise<IteratorReturnResult<undefined>> | undefined;
  let wasSilent = false;
  return {
    get wasSilent() {
      return wasSilent;
    },
    next: () => (over ? Promise.race([iterator.next(), over]) : iterator.next()),
    expect(silenceMs) {
      clearTimeout(timer);
      over = undefined;
      if (silenceMs === undefined) return;
      const { promise, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>();
      const current = promise;
      const end = () => {
        if (over !== current) return;
        wasSilent = true;
        resolve({ done: true, value: undefined });
      };
      // A process that stood still reads first what has come meanwhile.
      timer = setTimeout(() => setImmediate(end), silenceMs);
      over = current;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      // Not awaited: it ends after a piece that may never come. What breaks by then has no reader.
      iterator.return?.().catch(() => undefined);
    },
  };
}
