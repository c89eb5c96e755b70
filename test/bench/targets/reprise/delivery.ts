import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDevTenant } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import type { Child } from "../../children/child.ts";
import { startService } from "./service-child.ts";

export interface BenchDelivery extends AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  readonly tenant: string;
  readonly apiKey: string;
}

/** Delivery's own main.ts as a process, with one tenant. */
export async function startBenchDelivery(
  natsUrl: string,
  profileDir: string | undefined,
): Promise<BenchDelivery> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("bench-delivery"));
  const { tenant, secret: apiKey, file } = createDevTenant(randomBytes(24));
  const tenantsFile = join(dir.path, "tenants.json");
  await writeFile(tenantsFile, file);
  const { child, url } = await startService({
    name: "delivery",
    readyMessage: "listening",
    env: { REPRISE_NATS_URL: natsUrl, REPRISE_TENANTS_FILE: tenantsFile, REPRISE_PORT: "0" },
    profileDir,
  });
  stack.use(child);
  const running = stack.move();
  return { child, url: url!, tenant, apiKey, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
