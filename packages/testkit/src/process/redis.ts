import { createInterface } from "node:readline";
import { RepriseError } from "@reprise/protocol";
import { spawnSupervised } from "@reprise/runtime";
import { findFreePort, startOnFreePorts } from "../network/free-port.ts";
import { createTempDir } from "./temp-dir.ts";

export interface TestRedis extends AsyncDisposable {
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts an empty Redis on a free port of 127.0.0.1, which keeps nothing on disk and never outlives this process.
 * @param binary default: `redis-server`, searched on PATH
 * @param port default: a free one
 * @param configFile a configuration that says where it listens, which is `port`, and all else
 * @throws RepriseError `config_invalid` when it does not start, with what it said
 */
export async function startRedis({
  binary = "redis-server",
  port,
  configFile,
}: { binary?: string; port?: number; configFile?: string } = {}): Promise<TestRedis> {
  return startOnFreePorts(async () => startOn(port ?? (await findFreePort()), binary, configFile));
}

async function startOn(port: number, binary: string, configFile: string | undefined): Promise<TestRedis> {
  const dir = await createTempDir("redis");
  const ownSettings = ["--bind", "127.0.0.1", "--port", String(port), "--save", "", "--appendonly", "no"];
  const settings = [...(configFile === undefined ? ownSettings : [configFile]), "--dir", dir.path];
  const server = await spawnSupervised([binary, ...settings], { output: "pipe", stopGraceS: 2 });
  const stop = async (): Promise<void> => {
    await server.stop();
    await dir[Symbol.asyncDispose]();
  };

  const said: string[] = [];
  const lines = createInterface({ input: server.stdout! });
  const ready = await new Promise<boolean>((resolve) => {
    // Continues reading after the line that matters, so that the server never waits for a full pipe.
    lines.on("line", (line) => {
      said.push(line);
      if (line.includes("Ready to accept connections")) resolve(true);
    });
    lines.on("close", () => resolve(false));
  });
  if (!ready) {
    const { code } = await server.exited;
    await stop();
    throw new RepriseError(
      "config_invalid",
      `${binary} did not start (status ${code}); is Redis installed? ${said.slice(-3).join("\n")}`.trimEnd(),
    );
  }
  return { url: `redis://127.0.0.1:${port}`, port, stop, [Symbol.asyncDispose]: stop };
}
