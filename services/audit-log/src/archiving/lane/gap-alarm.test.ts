import { join } from "node:path";
import { createNoteKey } from "@reprise/archive";
import { createLogger, createMetrics } from "@reprise/runtime";
import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startAuditLog } from "../../service.ts";
import { openLaneWorld, STREAM } from "../../testing/worlds/lane-world.ts";
import { SIGNING_SEED } from "../../testing/test-keys.ts";

test("a gap is counted, and told as an error that says where", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await world.write(ref, 0, [requested(ref), ...Array.from({ length: 9 }, () => delta("a"))]);
  await world.purgeBefore(5);
  const told = Promise.withResolvers<Record<string, unknown>>();
  const destination = {
    write(line: string) {
      const words = JSON.parse(line) as Record<string, unknown>;
      if ("gaps" in words) told.resolve(words);
    },
  };
  const metrics = createMetrics({ processMetrics: false });
  await using auditLog = await startAuditLog({
    broker: world.broker,
    shards: 1,
    storage: {
      name: "test",
      store: world.store,
      dir: join(world.dir, "archive"),
      cacheDir: join(world.dir, "cache"),
      keyring: await world.openKeyring(),
      signer: createNoteKey("test", SIGNING_SEED),
      earlier: [],
    },
    tenants: () => [],
    limits: { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 },
    logger: createLogger({ service: "audit-log", destination }),
    metrics,
  });
  expect(auditLog.notReadyBecause()).toEqual([]);
  expect(await told.promise).toMatchObject({ level: "error", stream: STREAM, gaps: [[1, 4]] });
  expect(await metrics.render()).toContain("\nreprise_audit_lost_total 4\n");
});
