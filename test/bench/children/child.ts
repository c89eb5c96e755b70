import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import type { Answer, Call } from "./serve-parent.ts";

/** A process of the bench's own, that answers calls. It ends with this one, however that ends. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  readonly stdout: Readable;
  /** @throws Error when the method failed over there, or the child has ended */
  call<T>(method: string, argument?: unknown): Promise<T>;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** For error messages. */
  name: string;
  script: URL;
  args?: readonly string[];
  /** All of the child's environment but PATH. */
  env?: Readonly<Record<string, string>>;
  execArgv?: readonly string[];
}

const STOP_GRACE_MS = 5_000;
const running = new Set<Child>();

/** Ends every child there is; what waits for one of them fails, and so the whole run unwinds. */
export async function stopChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop()));
}

/** Starts a script that calls `serveParent`, or one under `probe.ts`, and resolves when it runs. */
export async function startChild({
  name,
  script,
  args = [],
  env = {},
  execArgv = [],
}: ChildOptions): Promise<Child> {
  const child = fork(script, [...args], {
    env: { PATH: process.env["PATH"], ...env },
    execArgv: [...execArgv],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    // A session of its own: a terminal's Ctrl-C is for the parent, which then stops its children in order.
    detached: true,
  });
  await once(child, "spawn");
  const calls = createCalls(child, name);
  const exited = once(child, "exit");
  const stop = async () => {
    if (child.connected) child.disconnect();
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP_GRACE_MS);
    await exited;
    clearTimeout(kill);
    running.delete(started);
  };
  const started: Child = {
    pid: child.pid!,
    stdout: child.stdout!,
    call: (method, argument) => calls.call(method, argument) as Promise<never>,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  running.add(started);
  return started;
}

function createCalls(child: ChildProcess, name: string) {
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  child.on("message", (message) => {
    const { id, result, error } = message as Answer;
    const waiting = pending.get(id);
    pending.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${name}: ${error}`));
  });
  child.on("exit", (code, signal) => {
    const ended = new Error(`${name} has ended (${signal ?? code}).`);
    for (const { reject } of pending.values()) reject(ended);
    pending.clear();
  });
  return {
    call(method: string, argument: unknown): Promise<unknown> {
      const answer = Promise.withResolvers<unknown>();
      if (!child.connected) throw new Error(`${name} has ended.`);
      pending.set(++lastId, answer);
      child.send({ id: lastId, method, argument } satisfies Call);
      return answer.promise;
    },
  };
}
