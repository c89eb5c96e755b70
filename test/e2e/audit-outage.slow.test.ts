import { createClient } from "@reprise/client";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { expectExactlyOnce, reprise, untilArchived } from "./testing/archive.ts";
import { startCluster, textOf } from "./testing/cluster.ts";
import { hasEnded, TENANT } from "./testing/moderated.ts";

const GENERATIONS = 6;

test("readers notice nothing of the audit log's death, and what it missed it archives when it is back", async () => {
  await using cluster = await startCluster();
  const [{ url }, auditLog] = await Promise.all([
    cluster.startDelivery(),
    cluster.startAuditLog(),
    cluster.startWorker(),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const headers = { authorization: `Bearer ${cluster.keys[TENANT]}` };
  const input = { model: "sim", input: "Hi", options: { tokens: 50, tokens_per_second: 200 } };
  const first = await generations.create(input);
  await generations.stream(first.id).done();
  // It has to go on where it was, and not at the beginning.
  await untilArchived(cluster);
  auditLog.kill("SIGKILL");
  await auditLog.exited;

  const all = await Promise.all(
    Array.from({ length: GENERATIONS }, async () => {
      const { id } = await generations.create(input);
      await using reader = await openSseReader(`${url}/v1/generations/${id}/events`, { headers });
      const result = await generations.stream(id).done();
      expect(await reader.ended).toBe("clean");
      const events = await cluster.untilLog(TENANT, id, (log) => log.some(hasEnded));
      const log = await cluster.readLog(TENANT, id);
      expect(reader.frames.map(({ data }) => data)).toEqual(log.slice(1));
      expect(result).toMatchObject({ status: "completed", text: textOf(events) });
      return { tenant: TENANT, id };
    }),
  );
  await cluster.startAuditLog();
  const archive = await untilArchived(cluster);
  await expectExactlyOnce(cluster, archive, [{ tenant: TENANT, id: first.id }, ...all]);
  expect(await reprise(cluster, "verify")).toMatch(/^fine: /m);
});
