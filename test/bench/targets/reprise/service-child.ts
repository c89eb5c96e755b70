import { createInterface } from "node:readline";
import { type Child, startChild } from "../../children/child.ts";

const PROBE = new URL("../../children/probe.ts", import.meta.url);

/** A service's own main.ts as a child, and what it logged when it was ready. */
export interface ServiceChild {
  readonly child: Child;
  /** Where it listens; only services that serve HTTP say so. */
  readonly url: string | undefined;
}

/**
 * Starts `services/<name>/src/main.ts`, with the probe in front, and resolves when its log says `readyMessage`.
 * @throws Error when it ends before
 */
export async function startService(
  name: string,
  readyMessage: string,
  env: Readonly<Record<string, string>>,
): Promise<ServiceChild> {
  const child = await startChild({
    name,
    script: new URL(`../../../../services/${name}/src/main.ts`, import.meta.url),
    execArgv: ["--import", PROBE.href, "--expose-gc"],
    env: { REPRISE_DRAIN_MS: "1000", REPRISE_LOG_LEVEL: "info", ...env },
  });
  const ready = await new Promise<{ url?: string } | undefined>((resolve) => {
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      const entry = JSON.parse(line) as { msg?: string; level?: number | string; url?: string };
      if (entry.msg === readyMessage) resolve(entry);
      if (isError(entry.level)) console.error(`${name}: ${line}`);
    });
    lines.on("close", () => resolve(undefined));
  });
  if (ready) return { child, url: ready.url };
  await child.stop();
  throw new Error(`${name} did not start.`);
}

function isError(level: number | string | undefined): boolean {
  return level === "error" || level === "fatal" || (typeof level === "number" && level >= 50);
}
