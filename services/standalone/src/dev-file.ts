import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDevTenant, parseTenantsFile, type TenancyConfig } from "@reprise/tenancy";

/*
 * `<data dir>/dev.json`: where a platform without configured tenants is, and the key to it. Readable by its owner only.
 */

export interface DevAccess {
  readonly tenancy: TenancyConfig;
  readonly apiKey: string;
}

/** The tenant `demo`, with the key of the last start if there was one: its generations survive a restart, so must access to them. */
export async function openDevAccess(dataDir: string): Promise<DevAccess> {
  const previous = await readPreviousKey(join(dataDir, "dev.json"));
  const { secret, file } = createDevTenant(previous ?? randomBytes(24));
  return { tenancy: parseTenantsFile(file, "dev.json"), apiKey: secret };
}

/** In one step: a read, after a crash too, finds the old file or the new one, and the only copy of the key is never lost. */
export async function writeDevFile(
  dataDir: string,
  { url, apiKey }: { url: string; apiKey: string },
): Promise<void> {
  const content = { url, tenant: "demo", api_key: apiKey };
  const path = join(dataDir, "dev.json");
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The random bytes behind the key in an earlier `dev.json`; undefined when there is none that can be used. */
async function readPreviousKey(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const key = /"api_key": "rk_demo_([A-Za-z0-9_-]{32})"/.exec(text)?.[1];
  return key === undefined ? undefined : Buffer.from(key, "base64url");
}
