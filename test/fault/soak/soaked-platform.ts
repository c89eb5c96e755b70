import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { findNatsServer } from "@reprise/runtime";
import { createTempDir, readResidentBytes } from "@reprise/testkit";
import type { ProcessMemory } from "./judge-memory.ts";

/** `npm start` as it is, in a process and a folder of its own. */
export interface SoakedPlatform extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  sample(): Promise<ProcessMemory & { readonly brokerBytes: number }>;
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PROBE = new URL("probe.ts", import.meta.url).href;
/** It ends with this process: its other end of stdin closes then. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume().unref()`,
)}`;

/** @param env settings of the platform beyond its defaults */
export async function startSoakedPlatform(env: Readonly<Record<string, string>>): Promise<SoakedPlatform> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("soak"));
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? `${ROOT}.reprise`);
  const child = spawn(
    process.execPath,
    ["--expose-gc", "--import", END_WITH_PARENT, "--import", PROBE, "services/standalone/src/main.ts"],
    {
      cwd: ROOT,
      env: {
        PATH: process.env["PATH"],
        REPRISE_NATS_SERVER: path,
        REPRISE_DATA_DIR: dir.path,
        REPRISE_PORT: "0",
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe", "ipc"],
    },
  );
  const exited = once(child, "exit");
  const stderr = text(child.stderr!);
  stack.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const { msg, url: at } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === "listening" && at) resolve(at);
    });
    void exited.then(async () => reject(new Error(`The platform did not start: ${await stderr}`)));
  });
  const { api_key: apiKey } = JSON.parse(await readFile(join(dir.path, "dev.json"), "utf8")) as {
    api_key: string;
  };
  const broker = Number(await readFile(join(dir.path, "nats", "nats-server.pid"), "utf8"));
  const owned = stack.move();
  return {
    url,
    apiKey,
    async sample() {
      const answer = once(child, "message");
      child.send("sample");
      const gone = exited.then(async () => {
        throw new Error(`The platform has ended: ${await stderr}`);
      });
      const [memory] = (await Promise.race([answer, gone])) as [ProcessMemory];
      return { ...memory, brokerBytes: await readResidentBytes(broker) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
