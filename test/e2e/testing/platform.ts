import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { readCommandLine, type ServiceProcess, startService } from "@reprise/testkit";
import { assertNothingForbidden } from "./cluster.ts";

/**
 * `services/standalone` as a process, on a free port, and what its dev.json says. Disposal waits for its nats-server's end, too,
 * and throws when the broker has refused anything to the platform.
 */
export interface PlatformProcess extends ServiceProcess {
  readonly url: string;
  readonly apiKey: string;
}

interface DevFile {
  readonly url: string;
  readonly tenant: string;
  readonly api_key: string;
}

/** Without a witness, unless `env` asks for one: a process more takes as long to start as all the rest. */
export async function startPlatform(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<PlatformProcess> {
  const service = await startService("standalone", {
    REPRISE_PORT: "0",
    REPRISE_DATA_DIR: dataDir,
    REPRISE_WITNESS: "off",
    ...env,
  });
  await service.logged("listening");
  const { url, api_key: apiKey } = await readDevFile(dataDir);
  const natsPid = await readNatsPid(dataDir);
  return {
    ...service,
    url,
    apiKey,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      assertNothingForbidden([service]);
      // Until then it writes to the folder, which is removed next.
      while ((await readCommandLine(natsPid)) !== "") await pause(20);
    },
  };
}

export async function readNatsPid(dataDir: string): Promise<number> {
  return Number(await readFile(join(dataDir, "nats", "nats-server.pid"), "utf8"));
}

async function readDevFile(dataDir: string): Promise<DevFile> {
  return JSON.parse(await readFile(join(dataDir, "dev.json"), "utf8")) as DevFile;
}
