import * as blobs from "@reprise/blobs";
import { parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { awaitLine, startTestAuditLog } from "../testing/start-test-audit-log.ts";
import { openCopyingWorld } from "../testing/worlds/copied-blobs.ts";
import { openLifecycleWorld } from "../testing/worlds/lifecycle-world.ts";

const acme = parseTenantId("acme");
const beta = parseTenantId("beta");

test("the audit log copies for the tenants whose record says so, and logs what was gone", async () => {
  await using world = await openLifecycleWorld();
  const opened = openCopyingWorld(world);
  const [there, gone] = [
    await opened.make(acme, Buffer.from("there")),
    await opened.make(acme, Buffer.from("gone")),
  ];
  const foreign = await opened.make(beta, Buffer.from("of beta"));
  await blobs.removeBlob(opened.storage, acme, gone.id);
  const { logger, line } = awaitLine("blob");
  const { keyring } = await world.openContext();
  const written = { broker: world.live.broker, dir: world.dir, store: world.store };
  await using auditLog = await startTestAuditLog(written, keyring, {
    tenants: () => [
      { id: acme, audit: { minDays: 0, blobs: "content" } },
      { id: beta, audit: { minDays: 0 } },
    ],
    logger,
  });
  await opened.tell(acme, there);
  await opened.tell(beta, foreign);
  await opened.tell(acme, gone);
  await opened.archived();
  expect(auditLog.notReadyBecause()).toEqual([]);
  expect(await opened.copies(acme)).toMatchObject([{ blob: there.id }]);
  expect(await opened.copies(beta)).toEqual([]);
  expect(await line).toMatchObject({ level: "error", tenant: acme, blob: gone.id, reason: "gone" });
});
