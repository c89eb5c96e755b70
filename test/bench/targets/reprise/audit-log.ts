import type { Child } from "../../children/child.ts";
import type { BenchBroker } from "./broker.ts";
import { startService } from "./service-child.ts";

/**
 * The audit log's own main.ts as a process.
 * @param dataDir where it keeps what it archives
 */
export async function startBenchAuditLog(
  broker: BenchBroker,
  dataDir: string,
  profileDir: string | undefined,
): Promise<Child> {
  const { child } = await startService({
    name: "audit-log",
    readyMessage: "archiving",
    env: { REPRISE_NATS_URL: broker.urlFor("audit-log"), REPRISE_DATA_DIR: dataDir },
    profileDir,
  });
  return child;
}
