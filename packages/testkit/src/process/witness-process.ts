import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseVerifierKey, type VerifierKey } from "@reprise/archive";
import { bundleProgram } from "./bundle-program.ts";
import { type LogLine, readLogLines } from "./log-lines.ts";

/** A witness as a process of its own. Disposal kills it. */
export interface WitnessProcess extends AsyncDisposable {
  readonly url: string;
  /** Everything logged so far. */
  readonly lines: readonly LogLine[];
  readonly key: VerifierKey;
  /** SIGKILL, and the end of the process. */
  kill(): Promise<void>;
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
  /** The head that it gives to auditors; undefined when it has seen no such log. */
  latest(origin: string): Promise<string | undefined>;
}

/** The end of stdin is that of the test run: a killed test run leaves no process running. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume().unref()`,
)}`;

/** @param port 0 takes a free one */
export async function startWitnessProcess({
  dir,
  logs,
  port = 0,
  env = {},
}: {
  dir: string;
  logs: readonly VerifierKey[];
  port?: number;
  /** Further variables. */
  env?: Readonly<Record<string, string>>;
}): Promise<WitnessProcess> {
  const program = await bundleProgram("services/witness/src/main.ts");
  const child = spawn(process.execPath, ["--import", END_WITH_PARENT, program], {
    env: {
      REPRISE_PORT: String(port),
      REPRISE_WITNESS_DIR: dir,
      REPRISE_WITNESS_LOGS: logs.map(({ vkey }) => vkey).join(","),
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  const exited = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  const lines: LogLine[] = [];
  const ready = new Promise<LogLine | undefined>((resolve) => {
    readLogLines(child.stdout, (line) => {
      lines.push(line);
      if (line.msg === "witnessing") resolve(line);
    });
    void exited.then(() => resolve(undefined));
  });
  const witnessing = await ready;
  if (!witnessing) throw new Error("the witness has ended");
  const url = String(witnessing["url"]);
  return {
    url,
    lines,
    key: parseVerifierKey(String(witnessing["vkey"])),
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
