import { type LoadClient, startLoadClient } from "../load/load-client.ts";
import type { RunningTarget } from "../targets/target.ts";

/** One system under test and its readers: fresh processes for every run, so that none pays for what an earlier one left behind. */
export interface Run<Target extends RunningTarget> extends AsyncDisposable {
  readonly load: LoadClient;
  readonly target: Target;
}

/**
 * Starts both at the same time. When one can't be started, the other is ended again.
 * @throws the signal's reason when it has aborted; what the target throws
 */
export async function startRun<Target extends RunningTarget>(
  signal: AbortSignal,
  startTarget: () => Promise<Target>,
): Promise<Run<Target>> {
  signal.throwIfAborted();
  await using stack = new AsyncDisposableStack();
  const [load, target] = await Promise.allSettled([startLoadClient(), startTarget()]);
  if (load.status === "fulfilled") stack.use(load.value);
  if (target.status === "fulfilled") stack.use(target.value);
  if (load.status === "rejected") throw load.reason;
  if (target.status === "rejected") throw target.reason;
  const running = stack.move();
  return { load: load.value, target: target.value, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
