/** A message to a child. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

/** The answer: a result or the text of an error. */
export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export type Methods = Readonly<Record<string, (argument: never) => unknown>>;

/** Answers the parent's calls, and ends this process when the parent is gone. */
export function serveParent(methods: Methods): void {
  const end = () => process.kill(process.pid, "SIGTERM");
  // The parent may have ended before the listener was added.
  if (!process.connected) end();
  process.on("disconnect", end);
  process.on("message", (message) => void answer(methods, message as Call));
}

async function answer(methods: Methods, { id, method, argument }: Call): Promise<void> {
  const reply = (message: Answer) => process.send?.(message);
  try {
    const handler = methods[method];
    if (!handler) throw new Error(`${method} is no method.`);
    reply({ id, result: await handler(argument as never) });
  } catch (error) {
    reply({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
