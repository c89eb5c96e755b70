import { spawn } from "node:child_process";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createTempDir, findFreePort } from "@reprise/testkit";
import { encodeRandomModel } from "./random-model.ts";

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

/** Starts the llama-server of PATH with a model of random weights. @param more further arguments */
export async function startServer(more: readonly string[] = []): Promise<EngineServer> {
  const dir = await createTempDir("engine");
  const model = join(dir.path, "model.gguf");
  await writeModel(model);
  const port = String(await findFreePort());
  const args = ["-m", model, "--host", "127.0.0.1", "--port", port, ...SETTINGS, ...more];
  const child = spawn("llama-server", args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
    await dir[Symbol.asyncDispose]();
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

async function writeModel(path: string): Promise<void> {
  await using file = await open(path, "w");
  for (const bytes of encodeRandomModel()) await file.appendFile(bytes);
}
