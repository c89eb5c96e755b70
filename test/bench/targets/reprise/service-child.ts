import { createInterface } from "node:readline";
import { type Child, startChild } from "../../children/child.ts";
import type { BenchBroker } from "./broker.ts";

const PROBE = new URL("../../children/probe.ts", import.meta.url);

/** A service's own main.ts as a child, and what it logged when it was ready. */
export interface ServiceChild {
  readonly child: Child;
  /** Where it listens; only services that serve HTTP say so. */
  readonly url: string | undefined;
}

/** Options of Reprise's start. */
export interface RepriseSettings {
  natsServer: string;
  profileDir: string | undefined;
}

export interface ServiceOptions {
  name: string;
  /** The line that the service logs when it is ready. */
  readyMessage: string;
  env: Readonly<Record<string, string>>;
  profileDir: string | undefined;
}

/**
 * Starts `services/<name>/src/main.ts`, with the probe in front, and resolves when its log says `readyMessage`.
 * @throws Error when it ends before
 */
export async function startService({
  name,
  readyMessage,
  env,
  profileDir,
}: ServiceOptions): Promise<ServiceChild> {
  const profile =
    profileDir === undefined
      ? []
      : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`, `--cpu-prof-name=${name}-${Date.now()}.cpuprofile`];
  const child = await startChild({
    name,
    script: new URL(`../../../../services/${name}/src/main.ts`, import.meta.url),
    execArgv: ["--import", PROBE.href, "--expose-gc", ...profile],
    env: { REPRISE_DRAIN_MS: "1000", REPRISE_DRAIN_NOTICE_MS: "0", REPRISE_LOG_LEVEL: "info", ...env },
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

const READY = { "audit-log": "archiving", analytics: "measuring", moderation: "judging" } as const;

/** Starts a service that reads the log, with its data in `dataDir`. */
export async function startBeside(
  name: keyof typeof READY,
  broker: BenchBroker,
  { dataDir, profileDir }: { dataDir?: string | undefined; profileDir: string | undefined },
): Promise<Child> {
  const env = {
    REPRISE_NATS_URL: broker.urlFor(name),
    ...(dataDir !== undefined && { REPRISE_DATA_DIR: dataDir }),
  };
  return (await startService({ name, readyMessage: READY[name], env, profileDir })).child;
}
