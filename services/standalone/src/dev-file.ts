import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceSecretFile } from "@reprise/runtime";
import { createDevTenant, createOperatorKey, parseTenantsFile, type TenancyConfig } from "@reprise/tenancy";

/*
 * `<data dir>/dev.json`: where the platform is, and its keys: the operator's, and that of the tenant `demo` unless tenants are configured. Readable by its owner only.
 */

export interface DevAccess {
  readonly tenancy: TenancyConfig;
  readonly apiKey: string;
  /** True if the key is of an earlier start. */
  readonly wasThere: boolean;
  /** Administers all tenants. */
  readonly operatorKey: string;
}

/** The tenant `demo`, with the key of the last start if there was one: its generations survive a restart, so must access to them. */
export async function openDevAccess(dataDir: string): Promise<DevAccess> {
  const previous = await readPreviousKeys(join(dataDir, "dev.json"));
  const { secret, file } = createDevTenant(previous.api ?? randomBytes(24));
  const operatorKey = createOperatorKey(previous.operator ?? randomBytes(24));
  const wasThere = previous.api !== undefined;
  return { tenancy: parseTenantsFile(file, "dev.json"), apiKey: secret, wasThere, operatorKey };
}

/** The only copy of the key is never lost. */
export async function writeDevFile(
  dataDir: string,
  { url, apiKey, operatorKey }: { url: string; apiKey: string | undefined; operatorKey: string | undefined },
): Promise<void> {
  const content = {
    url,
    ...(apiKey !== undefined && { tenant: "demo", api_key: apiKey }),
    operator_key: operatorKey,
  };
  await replaceSecretFile(join(dataDir, "dev.json"), `${JSON.stringify(content, null, 2)}\n`);
}

/** Reads the random bytes of the keys in an earlier `dev.json`; undefined if it has none that can be used. */
async function readPreviousKeys(path: string): Promise<Record<"api" | "operator", Uint8Array | undefined>> {
  const text = await readFile(path, "utf8").catch(() => "");
  const api = /"api_key": "rk_demo_([A-Za-z0-9_-]{32})"/.exec(text)?.[1];
  const operator = /"operator_key": "ro_([A-Za-z0-9_-]{32})"/.exec(text)?.[1];
  const decode = (key: string | undefined) => (key === undefined ? undefined : Buffer.from(key, "base64url"));
  return { api: decode(api), operator: decode(operator) };
}
