export interface WaitAnnouncement {
  /** Written when the wait has taken `afterMs`. */
  readonly text: () => string;
  readonly afterMs: number;
  readonly write: (text: string) => unknown;
}

/** Says what is waited for, once, unless it is disposed of before: a terminal that shows nothing for long looks like a program that hangs. */
export function announceWait({ text, afterMs, write }: WaitAnnouncement): Disposable {
  const timer = setTimeout(() => write(text()), afterMs);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
