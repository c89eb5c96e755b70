import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDevTenant } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import type { Child } from "../../children/child.ts";
import type { BenchBroker } from "./broker.ts";
import { startService } from "./service-child.ts";

export interface BenchDelivery extends AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  readonly tenant: string;
  readonly apiKey: string;
  readonly otherKey: string;
}

export interface BenchDeliveryOptions {
  /** Of the collector that it sends the spans of all requests to. Default: it traces nothing. */
  readonly otlpUrl?: string | undefined;
}

/** Delivery's own main.ts as a process, with two tenants: the one that is measured, and one to disturb it. */
export async function startBenchDelivery(
  broker: BenchBroker,
  profileDir: string | undefined,
  { otlpUrl }: BenchDeliveryOptions = {},
): Promise<BenchDelivery> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("bench-delivery"));
  const { tenant, secret: apiKey, file } = createDevTenant(randomBytes(24));
  const tenantsFile = join(dir.path, "tenants.json");
  const otherKey = `rk_other_${randomBytes(24).toString("base64url")}`;
  const { tenants } = JSON.parse(file) as { tenants: object[] };
  const other = { id: "other", keys: [{ secret: otherKey, roles: ["create", "read"] }] };
  await writeFile(tenantsFile, JSON.stringify({ tenants: [...tenants, other] }));
  const { child, url } = await startService({
    name: "delivery",
    readyMessage: "listening",
    env: {
      REPRISE_NATS_URL: broker.urlFor("delivery"),
      REPRISE_TENANTS_FILE: tenantsFile,
      REPRISE_TENANTS_SOURCE: "file",
      REPRISE_PORT: "0",
      // All readers of a run have one address.
      REPRISE_MAX_CONNECTIONS_PER_ADDRESS: "0",
      ...(otlpUrl !== undefined && {
        OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      }),
    },
    profileDir,
  });
  stack.use(child);
  const running = stack.move();
  return { child, url: url!, tenant, apiKey, otherKey, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
