import { createNoteKey } from "@reprise/archive";
import * as blobs from "@reprise/blobs";
import { createLogger, createMetrics } from "@reprise/runtime";
import { parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startAuditLog } from "../service.ts";
import { SIGNING_SEED } from "../testing/test-keys.ts";
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
  const told = Promise.withResolvers<Record<string, unknown>>();
  const destination = {
    write(line: string) {
      const words = JSON.parse(line) as Record<string, unknown>;
      if ("blob" in words) told.resolve(words);
    },
  };
  const { keyring } = await world.openContext();
  await using auditLog = await startAuditLog({
    broker: world.live.broker,
    shards: 1,
    storage: {
      name: "test",
      store: world.store,
      dir: `${world.dir}/archive`,
      cacheDir: `${world.dir}/cache`,
      keyring,
      signer: createNoteKey("test", SIGNING_SEED),
      earlier: [],
    },
    tenants: () => [
      { id: acme, audit: { minDays: 0, blobs: "content" } },
      { id: beta, audit: { minDays: 0 } },
    ],
    limits: { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 },
    logger: createLogger({ service: "audit-log", destination }),
    metrics: createMetrics({ processMetrics: false }),
  });
  await opened.tell(acme, there);
  await opened.tell(beta, foreign);
  await opened.tell(acme, gone);
  await opened.archived();
  expect(auditLog.notReadyBecause()).toEqual([]);
  expect(await opened.copies(acme)).toMatchObject([{ blob: there.id }]);
  expect(await opened.copies(beta)).toEqual([]);
  expect(await told.promise).toMatchObject({ level: "error", tenant: acme, blob: gone.id, reason: "gone" });
});
