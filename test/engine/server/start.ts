import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { MODEL } from "./install.ts";

/** Two slots with 4,096 tokens each. */
const SETTINGS = [
  "--offline",
  "-t",
  "1",
  "-tb",
  "1",
  "-np",
  "2",
  "-c",
  "8192",
  "--no-webui",
  "--reasoning-format",
  "deepseek",
];

export interface EngineServer extends AsyncDisposable {
  /** With `/v1`. */
  readonly baseUrl: string;
}

/**
 * @param root as `installServer` has made it
 * @param more arguments of llama-server
 */
export async function startServer(root: string, more: readonly string[] = []): Promise<EngineServer> {
  const port = String(await findFreePort());
  const address = ["--host", "127.0.0.1", "--port", port];
  const args = [root, "/usr/bin/llama-server", "-m", MODEL, ...address, ...SETTINGS, ...more];
  const child = spawn("chroot", args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const lines: string[] = [];
  const ready = (async () => {
    for await (const line of createInterface(child.stderr)) {
      lines.push(line);
      if (line.includes("listening on http")) return true;
    }
    return false;
  })();
  if (!(await ready)) throw new Error(`llama-server did not start:\n${lines.slice(-20).join("\n")}`);
  child.stderr.resume();
  return { baseUrl: `http://127.0.0.1:${port}/v1`, [Symbol.asyncDispose]: stop };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
