import type { Child } from "../../children/child.ts";
import type { BenchBroker } from "./broker.ts";
import { startService } from "./service-child.ts";

/**
 * Analytics' own main.ts as a process.
 * @param dataDir where it keeps rows
 */
export async function startBenchAnalytics(
  broker: BenchBroker,
  dataDir: string,
  profileDir: string | undefined,
): Promise<Child> {
  const { child } = await startService({
    name: "analytics",
    readyMessage: "measuring",
    env: { REPRISE_NATS_URL: broker.urlFor("analytics"), REPRISE_DATA_DIR: dataDir },
    profileDir,
  });
  return child;
}
