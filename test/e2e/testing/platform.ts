import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServiceProcess, startService } from "@reprise/testkit";

/** `services/standalone` as a process, on a free port, and what its dev.json says. */
export interface PlatformProcess extends ServiceProcess {
  readonly url: string;
  readonly apiKey: string;
}

export interface DevFile {
  readonly url: string;
  readonly tenant: string;
  readonly api_key: string;
}

export async function startPlatform(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<PlatformProcess> {
  const service = await startService("standalone", {
    REPRISE_PORT: "0",
    REPRISE_DATA_DIR: dataDir,
    ...env,
  });
  await service.logged("listening");
  const { url, api_key: apiKey } = await readDevFile(dataDir);
  return { ...service, url, apiKey };
}

export async function readDevFile(dataDir: string): Promise<DevFile> {
  return JSON.parse(await readFile(join(dataDir, "dev.json"), "utf8")) as DevFile;
}
