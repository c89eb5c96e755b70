import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDevTenant } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import { startChild } from "../../children/child.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { SHARDS, startBenchBroker } from "./broker.ts";
import { startService } from "./service-child.ts";

/** nats-server, a process that appends as a worker does, and delivery: its own main.ts. */
export async function startReprise({ natsServer }: { natsServer: string }): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { server } = stack.use(await startBenchBroker(natsServer));
  const dir = stack.use(await createTempDir("bench-reprise"));
  const { tenant, secret, file } = createDevTenant(randomBytes(24));
  const tenantsFile = join(dir.path, "tenants.json");
  await writeFile(tenantsFile, file);

  const { child: delivery, url } = await startService("delivery", "listening", {
    REPRISE_NATS_URL: server.url,
    REPRISE_TENANTS_FILE: tenantsFile,
    REPRISE_PORT: "0",
  });
  stack.use(delivery);
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("./worker.ts", import.meta.url),
      args: [server.url, tenant, String(SHARDS)],
    }),
  );
  const port = Number(new URL(url!).port);
  const headers = { authorization: `Bearer ${secret}` };
  return createTarget({
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: server.pid },
      { role: "delivery", pid: delivery.pid },
    ],
    deliveryRole: "delivery",
    producer: worker,
    probed: delivery,
    readerOf: (id) => ({ transport: "sse", port, path: `/v1/generations/${id}/events`, headers }),
    stack: stack.move(),
  });
}
