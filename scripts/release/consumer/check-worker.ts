import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../pack/run.ts";
import type { Outcome } from "../step.ts";
import type { Tools } from "../install-tools.ts";
import { findReadingProblems, type Platform } from "./check-runtimes.ts";

/** The bundle and its bindings; `private` networks hold the platform. */
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker-bundle.mjs")],
  compatibilityDate = "2026-01-01",
  bindings = [
    (name = "PLATFORM_URL", fromEnvironment = "PLATFORM_URL"),
    (name = "PLATFORM_KEY", fromEnvironment = "PLATFORM_KEY"),
  ],
);
`;

/** Runs `worker.mjs` in workerd, the runtime of Cloudflare's workers, bundled as their tool does it. */
export async function checkWorker(folder: string, platform: Platform, tools: Tools): Promise<Outcome> {
  const bundle = [
    "--bundle",
    "--format=esm",
    "--conditions=workerd,worker,browser",
    "--outfile=worker-bundle.mjs",
  ];
  await run(tools.bin("esbuild"), ["worker.mjs", ...bundle], { cwd: folder });
  await writeFile(join(folder, "worker.capnp"), CONFIG);
  const child = spawn(tools.bin("workerd"), ["serve", "worker.capnp", "--control-fd=3"], {
    cwd: folder,
    env: { ...process.env, PLATFORM_URL: platform.url, PLATFORM_KEY: platform.apiKey },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const said = text(child.stderr!);
  try {
    const [line] = (await Promise.race([
      once(createInterface({ input: child.stdio[3] as Readable }), "line"),
      exited.then(async () => Promise.reject(new Error(`workerd ended: ${await said}`))),
    ])) as [string];
    const { port } = JSON.parse(line) as { port: number };
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const answer = await response.text();
    return response.ok
      ? { problems: findReadingProblems(answer), report: ["streamed, resumed and cancelled: workerd"] }
      : { problems: [`workerd answered ${response.status}: ${answer}`] };
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}
