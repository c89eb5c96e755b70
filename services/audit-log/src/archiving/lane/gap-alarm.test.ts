import { createMetrics } from "@reprise/runtime";
import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { awaitLine, startTestAuditLog } from "../../testing/start-test-audit-log.ts";
import { openLaneWorld, STREAM } from "../../testing/worlds/lane-world.ts";

test("a gap is counted, and logged as an error that says where", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await world.write(ref, 0, [requested(ref), ...Array.from({ length: 9 }, () => delta("a"))]);
  await world.purgeBefore(5);
  const { logger, line } = awaitLine("gaps");
  const metrics = createMetrics({ processMetrics: false });
  await using auditLog = await startTestAuditLog(world, await world.openKeyring(), { logger, metrics });
  expect(auditLog.notReadyBecause()).toEqual([]);
  expect(await line).toMatchObject({ level: "error", stream: STREAM, gaps: [[1, 4]] });
  expect(await metrics.render()).toContain("\nreprise_audit_lost_total 4\n");
});
