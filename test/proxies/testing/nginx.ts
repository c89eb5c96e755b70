import { execFile } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawnSupervised } from "@reprise/runtime";
import { eventually } from "@reprise/testkit";
import { expect } from "vitest";
import { copyNginxFiles, type NginxFiles, type NginxOptions } from "./nginx-files.ts";

const run = promisify(execFile);

/** An nginx with the files of `infra/proxies/nginx`, on ports of its own. */
export interface Nginx extends AsyncDisposable {
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

/** Reads the configuration and runs nothing. @throws Error for a configuration that nginx refuses */
export async function checkNginxFiles({ dir }: NginxFiles): Promise<void> {
  // nginx opens /dev/stdout, which fails for a socket, as Node's pipes are.
  await run("sh", ["-c", `nginx -t -c '${dir}/nginx.conf' >'${dir}/check.log'`]);
}

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  await using stack = new AsyncDisposableStack();
  const files = stack.use(await copyNginxFiles(options));
  const { dir, httpPort, tlsPort, ca } = files;
  const config = join(dir, "nginx.conf");
  const logFile = join(dir, "output.log");
  const output = stack.use(await open(logFile, "a"));
  const server = await spawnSupervised(["nginx", "-c", config, "-g", "daemon off;"], { output: output.fd });
  stack.defer(() => server.stop());
  const log = () => readFile(logFile, "utf8");
  const ended = server.exited.then(async ({ code }) => {
    throw new Error(`nginx ended with status ${code}: ${await log()}`);
  });
  await Promise.race([untilListening(httpPort, tlsPort), ended]);
  ended.catch(() => {});

  const pidFile = join(dir, "nginx.pid");
  const reload = async (): Promise<void> => {
    const before = await childrenOf(pidFile);
    await run("nginx", ["-c", config, "-s", "reload"]);
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
  for (const port of ports)
    await eventually(async () => {
      const socket = connect(port, "127.0.0.1");
      try {
        await once(socket, "connect");
      } finally {
        socket.destroy();
      }
    });
}

async function childrenOf(pidFile: string): Promise<string[]> {
  const pid = (await readFile(pidFile, "utf8")).trim();
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.trim().split(" ");
}
