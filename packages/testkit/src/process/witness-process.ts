import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseVerifierKey, type VerifierKey } from "@reprise/archive";

/** A witness as a process of its own. Disposal kills it. */
export interface WitnessProcess extends AsyncDisposable {
  readonly url: string;
  readonly key: VerifierKey;
  /** SIGKILL, and the end of the process. */
  kill(): Promise<void>;
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
  /** What it gives to auditors; undefined when it has seen no such log. */
  latest(origin: string): Promise<string | undefined>;
}

const MAIN = fileURLToPath(new URL("../../../../services/witness/src/main.ts", import.meta.url));

/** The end of stdin is that of the test run: one that is killed leaves no process behind. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume().unref()`,
)}`;

/** @param port 0 takes a free one */
export async function startWitnessProcess({
  dir,
  logs,
  port = 0,
}: {
  dir: string;
  logs: readonly VerifierKey[];
  port?: number;
}): Promise<WitnessProcess> {
  const child = spawn(process.execPath, ["--import", END_WITH_PARENT, MAIN], {
    env: {
      REPRISE_PORT: String(port),
      REPRISE_WITNESS_DIR: dir,
      REPRISE_WITNESS_LOGS: logs.map(({ vkey }) => vkey).join(","),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url, vkey } = JSON.parse(line) as { msg: string; url: string; vkey: string };
    if (msg !== "witnessing") continue;
    child.stdout.resume();
    return {
      url,
      key: parseVerifierKey(vkey),
      kill,
      async stop() {
        child.kill("SIGTERM");
        const [code] = await exited;
        return code as number | null;
      },
      async latest(origin) {
        const response = await fetch(`${url}/checkpoint/${origin}`);
        return response.status === 200 ? response.text() : undefined;
      },
      [Symbol.asyncDispose]: kill,
    };
  }
  throw new Error("the witness has ended");
}
