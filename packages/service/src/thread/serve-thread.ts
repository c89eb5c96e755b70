import { parentPort, type Transferable, workerData } from "node:worker_threads";
import { RepriseError } from "@reprise/protocol";
import { type Answer, type Call, toSentError } from "./messages.ts";

/** What a method gives back, and which of its buffers go over without a copy. */
export interface Sent {
  readonly result: unknown;
  readonly transfer?: readonly Transferable[];
}

export interface ThreadService extends AsyncDisposable {
  readonly methods: Readonly<Record<string, (argument: never) => Promise<Sent>>>;
}

/**
 * The other side of a `Thread`: answers its calls until it is closed. The first call starts the service; where that fails the call is rejected
 * with the reason, and the next one tries again.
 * @param start is given the `data` that the thread was made with
 */
export function serveThread(start: (data: never) => Promise<ThreadService>): void {
  const port = parentPort;
  if (!port) throw new RepriseError("internal", "This script runs in a thread that another one starts.");
  let starting: Promise<ThreadService> | undefined;
  port.on("message", (call: Call | undefined) => void (call ? answer(call) : close()));

  async function answer({ id, method, argument }: Call): Promise<void> {
    try {
      starting ??= start(workerData as never);
      starting.catch(() => (starting = undefined));
      const { methods } = await starting;
      const { result, transfer = [] } = await methods[method]!(argument as never);
      port!.postMessage({ id, result } satisfies Answer, [...transfer]);
    } catch (error) {
      sendError(id, error);
    }
  }

  function sendError(id: number, error: unknown): void {
    try {
      port!.postMessage({ id, error: toSentError(error) } satisfies Answer);
    } catch {
      // What hangs on it can't be cloned: its text has to do.
      port!.postMessage({ id, error: { kind: "other", error: new Error(String(error)) } } satisfies Answer);
    }
  }

  async function close(): Promise<void> {
    const service = await starting?.catch(() => undefined);
    await service?.[Symbol.asyncDispose]();
    port!.close();
  }
}
