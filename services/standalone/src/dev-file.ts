import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDevTenant, parseTenantsFile, type TenancyConfig } from "@reprise/tenancy";
import * as z from "zod";

/** `<data dir>/dev.json`: where a platform without configured tenants is, and the key to it. Readable by its owner only. */
const devFileSchema = z.object({ url: z.string(), tenant: z.literal("demo"), api_key: z.string() });

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

export async function writeDevFile(dataDir: string, { url, apiKey }: { url: string; apiKey: string }): Promise<void> {
  const content = { url, tenant: "demo", api_key: apiKey };
  await writeFile(join(dataDir, "dev.json"), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
}

/** The random bytes behind the key in an earlier `dev.json`; undefined when there is none that can be used. */
async function readPreviousKey(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  if (text === "") return undefined;
  const parsed = devFileSchema.safeParse(parseJson(text));
  const bytes = parsed.success ? Buffer.from(parsed.data.api_key.replace(/^rk_demo_/, ""), "base64url") : Buffer.alloc(0);
  return bytes.length === 24 ? bytes : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
