import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
/** The end of stdin is that of the test that holds its other end. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume().unref()`,
)}`;

/** Runs a witness as a process of its own. */
export function spawnWitness(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ["--import", END_WITH_PARENT, MAIN], {
    env: { PATH: process.env["PATH"], REPRISE_PORT: "0", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  const stderr = text(child.stderr);
  const ended = once(child, "close").then(async ([code]) => ({
    code: code as number | null,
    stderr: await stderr,
  }));
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return {
    lines: createInterface({ input: child.stdout }),
    ended,
    kill,
    [Symbol.asyncDispose]: async () => void (await kill("SIGKILL")),
  };
}

/** Resolves when it listens. */
export async function startWitness(env: Readonly<Record<string, string>>) {
  const witness = spawnWitness(env);
  const [line] = (await once(witness.lines, "line")) as [string];
  const { url, vkey } = JSON.parse(line) as { url: string; vkey: string };
  return { ...witness, url, vkey };
}
