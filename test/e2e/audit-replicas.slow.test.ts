import { join } from "node:path";
import { createClient } from "@reprise/client";
import { expect, test } from "vitest";
import { countWriters, expectExactlyOnce, reprise, untilArchived } from "./testing/archive.ts";
import { type AuditLogProcess, type Cluster, startCluster } from "./testing/cluster.ts";

const TENANTS = ["acme", "beta"];
/** Two streams of logs, the verdicts, and what is recorded. */
const LANES = 4;

/** Runs generations of both tenants, one after another, until it is told to stop. */
function keepGenerating({ keys }: Cluster, url: string) {
  const over = new AbortController();
  const done: { tenant: string; id: string }[] = [];
  const runs = TENANTS.map(async (tenant) => {
    const { generations } = createClient({ url, apiKey: keys[tenant]! });
    while (!over.signal.aborted) {
      const options = { tokens: 40, tokens_per_second: 50 };
      const { id } = await generations.create({ model: "sim", input: "Hi", options });
      await generations.stream(id).done();
      done.push({ tenant, id });
    }
  });
  return {
    async stop() {
      over.abort();
      await Promise.all(runs);
      return done;
    },
  };
}

function untilLanes(expected: readonly number[], ...replicas: readonly AuditLogProcess[]): Promise<void> {
  return expect.poll(() => Promise.all(replicas.map((one) => one.lanes()))).toEqual(expected);
}

test("replicas share the streams, whether one is killed, frozen past its leases or elsewhere, and archive all once", async () => {
  await using cluster = await startCluster({ tenants: TENANTS });
  const shared = {
    REPRISE_AUDIT_DIR: join(cluster.dataDir, "audit"),
    REPRISE_AUDIT_KEYS_DIR: join(cluster.dataDir, "audit-keys"),
  };
  const elsewhere = (name: string) =>
    cluster.startAuditLog({ ...shared, REPRISE_DATA_DIR: join(cluster.dataDir, name) });
  const [{ url }, one, two] = await Promise.all([
    cluster.startDelivery(),
    elsewhere("one"),
    elsewhere("two"),
    cluster.startWorker(),
  ]);
  const generating = keepGenerating(cluster, url);
  await untilLanes([LANES / 2, LANES / 2], one, two);
  await expect.poll(() => countWriters(cluster)).toBe(2);
  one.kill("SIGKILL");
  const three = await elsewhere("three");
  await untilLanes([LANES / 2, LANES / 2], two, three);
  await expect.poll(() => countWriters(cluster)).toBe(3);

  await two.pause();
  await untilLanes([LANES], three);
  await untilArchived(cluster);
  two.resume();
  await untilLanes([LANES / 2, LANES / 2], two, three);
  await Promise.all([two.stop(), three.stop()]);

  const four = await elsewhere("four");
  const generations = await generating.stop();
  const opened = await untilArchived(cluster);
  await expectExactlyOnce(cluster, opened, generations);
  await four.stop();
  expect(await reprise(cluster, "verify")).toMatch(/^fine: /m);
});
