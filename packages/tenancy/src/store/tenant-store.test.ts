import { connectBroker } from "@reprise/broker";
import { restoreBackup, takeBackup } from "@reprise/stream";
import { createTempDir, startTestBroker } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { ACME, BETA, openWorld, record } from "../testing/world.ts";
import { MAX_KEYS } from "../records/key-record.ts";
import { openTenantStore } from "./tenant-store.ts";

const A = "rk_acme_0123456789abcdef";
const B = "rk_beta_0123456789abcdef";

describe("the tenants' bucket", () => {
  test("loses none of the changes that many administrators make at once", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, []));
    const other = await openTenantStore(world.broker.bulk);
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    const add = (name: string, i: number) =>
      (i % 2 ? other : world.store).update(ACME, (present) => ({
        ...present,
        models: [...(present.models ?? []), name],
      }));
    await Promise.all(names.map(add));
    const stored = await world.store.read(ACME);
    expect(stored?.record.models?.toSorted()).toEqual(names.toSorted());
  });

  /** Has the broker store a copy of another tenant's record, as a service can that may not write the bucket. */
  async function forgeBeta({
    broker: { main },
  }: Pick<Awaited<ReturnType<typeof openWorld>>, "broker">): Promise<void> {
    const stored = Promise.withResolvers<void>();
    main.subscribe("live.tenants.beta", { max: 1, callback: () => stored.resolve() });
    const get = JSON.stringify({ last_by_subj: "$KV.TENANTS.acme", no_hdr: true });
    main.publish("$JS.API.DIRECT.GET.KV_TENANTS", get, { reply: "$KV.TENANTS.beta" });
    await stored.promise;
  }

  test("removes a tenant whose record is forged: a node that runs has gone on with the one before", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, []));
    await world.store.create(record(BETA, [B]));
    const { directory } = await world.addNode();
    await forgeBeta(world);
    await directory.sync();
    expect(directory.authenticate(B)).toBeDefined();
    await world.store.remove(BETA);
    await directory.sync();
    expect(directory.authenticate(B)).toBeUndefined();
    await expect(world.store.remove(BETA)).rejects.toMatchObject({ code: "tenant_not_found" });
  });

  test("does not take what a service has had the broker store there for a record: no change makes it one that counts", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    await world.store.create(record(BETA, []));
    await forgeBeta(world);
    expect(await world.store.read(BETA)).toBeUndefined();
    const change = world.store.update(BETA, (present) => ({ ...present, models: ["sim"] }));
    await expect(change).rejects.toMatchObject({ code: "tenant_not_found" });
    expect((await world.store.create(record(BETA, []))).record.keys).toEqual([]);
    expect((await world.store.read(BETA))?.record).toEqual(record(BETA, []));
  });

  test("changes only the version that is asked for", async () => {
    await using world = await openWorld();
    const { revision } = await world.store.create(record(ACME, []));
    const change = () =>
      world.store.update(ACME, (present) => ({ ...present, models: ["sim"] }), { ifRevision: revision });
    const changed = await change();
    expect(changed.revision).toBeGreaterThan(revision);
    await expect(change()).rejects.toMatchObject({ code: "precondition_failed" });
    await expect(world.store.remove(ACME, { ifRevision: revision })).rejects.toMatchObject({
      code: "precondition_failed",
    });
    await world.store.remove(ACME, { ifRevision: changed.revision });
    expect(await world.store.read(ACME)).toBeUndefined();
  });

  test("creates a tenant once, and never again once it was removed", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    await expect(world.store.create(record(ACME, []))).rejects.toMatchObject({ code: "tenant_conflict" });
    expect(await world.store.seed(record(ACME, []))).toBe("present");
    await world.store.remove(ACME);
    const refusal = { code: "tenant_removed", param: "id", message: expect.stringContaining('"acme"') };
    expect(await world.store.seed(record(ACME, []))).toBe("removed");
    await expect(world.store.create(record(ACME, [A]))).rejects.toMatchObject(refusal);
    await expect(world.store.replace(ACME, () => record(ACME, [A]))).rejects.toMatchObject(refusal);
    await expect(world.store.update(ACME, (present) => present)).rejects.toMatchObject({
      code: "tenant_not_found",
    });
    await expect(world.store.remove(ACME)).rejects.toMatchObject({ code: "tenant_not_found" });
    expect(await world.store.read(ACME)).toBeUndefined();
    expect(await world.store.seed(record(BETA, []))).toBe("created");
  });

  test("creates no tenant that was removed after a backup was restored either", async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await openWorld());
    const { path: dir } = stack.use(await createTempDir("backup"));
    await world.store.create(record(ACME, [A]));
    await world.store.remove(ACME);
    await takeBackup(world.broker, { dir });
    const server = stack.use(await startTestBroker());
    const empty = stack.use(await connectBroker({ url: server.url, name: "empty" }));
    await restoreBackup(empty, { dir });
    const store = await openTenantStore(empty.main);
    await expect(store.create(record(ACME, []))).rejects.toMatchObject({ code: "tenant_removed" });
  });

  test("keeps no record that is too large to be read by every node", async () => {
    await using world = await openWorld();
    const terms = Array.from({ length: 20_000 }, (_, i) => `${i}`.padEnd(60, "x"));
    const policy = { moderation: { rules: [{ terms }] } };
    await expect(world.store.create(record(ACME, [], { policy }))).rejects.toMatchObject({
      code: "invalid_request",
    });
    expect(await world.store.read(ACME)).toBeUndefined();
  });

  test("keeps no record that can't be read back, and leaves the one that is there", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const secrets = Array.from({ length: MAX_KEYS + 1 }, (_, i) => `rk_acme_${`${i}`.padStart(16, "0")}`);
    await expect(world.store.update(ACME, () => record(ACME, secrets))).rejects.toMatchObject({
      code: "invalid_request",
    });
    expect((await world.store.read(ACME))?.record.keys).toHaveLength(1);
  });
});
