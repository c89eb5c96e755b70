import { execFile } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawnSupervised } from "@reprise/service";
import { expect } from "vitest";
import { adaptProxy, type ProxyOptions } from "./adapt-proxy.ts";
import type { Command, ProxyKind } from "./proxy-kind.ts";

const run = promisify(execFile);

/** A proxy that runs with its files of `infra/proxies`, on ports of its own. */
export interface Proxy extends AsyncDisposable {
  /** Plain HTTP. */
  readonly url: string;
  /** TLS, with a certificate that `ca` has signed. */
  readonly tlsUrl: string;
  readonly ca: string;
  /** Resolves when new connections meet the configuration that is read. */
  reload(): Promise<void>;
  /** All that it has logged. */
  log(): Promise<string>;
}

/** Runs a command to its end and gives what it has said. @throws with that, when it fails */
export async function runCommand([program, ...args]: Command): Promise<string> {
  const { stdout, stderr } = await run(program, args);
  return stdout + stderr;
}

export async function startProxy(kind: ProxyKind, options: ProxyOptions): Promise<Proxy> {
  await using stack = new AsyncDisposableStack();
  const files = stack.use(await adaptProxy(kind, options));
  const { httpPort, tlsPort, ca } = files;
  const logFile = join(files.dir, "output.log");
  const output = stack.use(await open(logFile, "a"));
  const server = await spawnSupervised(kind.run(files), { output: output.fd });
  stack.defer(() => server.stop());
  const log = () => readFile(logFile, "utf8");
  const ended = server.exited.then(async ({ code }) => {
    throw new Error(`${kind.name} ended with status ${code}: ${await log()}`);
  });
  await Promise.race([untilListening(httpPort, tlsPort), ended]);
  ended.catch(() => {});

  const pidFile = kind.pidFile?.(files);
  const reload = async (): Promise<void> => {
    const before = pidFile === undefined ? [] : await childrenOf(pidFile);
    await runCommand(kind.reload(files));
    if (pidFile === undefined) return;
    const isNew = (pid: string) => !before.includes(pid);
    await expect.poll(async () => (await childrenOf(pidFile)).some(isNew)).toBe(true);
  };
  const kept = stack.move();
  return {
    url: `http://127.0.0.1:${httpPort}`,
    tlsUrl: `https://127.0.0.1:${tlsPort}`,
    ca,
    reload,
    log,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function untilListening(...ports: readonly number[]): Promise<void> {
  for (const port of ports) await expect.poll(() => isListening(port)).toBe(true);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function childrenOf(pidFile: string): Promise<string[]> {
  const pid = (await readFile(pidFile, "utf8")).trim();
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.trim().split(" ");
}
