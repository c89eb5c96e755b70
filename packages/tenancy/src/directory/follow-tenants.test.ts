import { type OnStale, publishedHeaders, readStreamInfo } from "@reprise/broker";
import { PATIENCE_MS, startTcpProxy } from "@reprise/testkit";
import { describe, expect, test, vi } from "vitest";
import { ACME, BETA, openWorld, record, until } from "../testing/world.ts";

const A = "rk_acme_0123456789abcdef";
const B = "rk_beta_0123456789abcdef";
/** For nodes that hear of changes by the announcement alone. */
const NEVER_MS = 3_600_000;

describe("the live directory", () => {
  test("has what was stored before its start, and every node follows what changes", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const [one, two] = [await world.addNode(), await world.addNode()];
    for (const { directory } of [one, two])
      expect(directory.authenticate(A)).toMatchObject({ tenant: "acme", roles: new Set(["read"]) });
    await world.store.create(record(BETA, [B]));
    await Promise.all(
      [one, two].map(({ directory }) => until(directory, () => directory.authenticate(B) !== undefined)),
    );
    await world.store.update(ACME, (present) => ({ ...present, keys: [], policy: { max_attempts: 1 } }));
    await Promise.all(
      [one, two].map(({ directory }) => until(directory, () => directory.authenticate(A) === undefined)),
    );
    expect(two.directory.find(ACME)?.policy).toEqual({ max_attempts: 1 });
    await world.store.remove(BETA);
    await Promise.all(
      [one, two].map(({ directory }) => until(directory, () => directory.find(BETA) === undefined)),
    );
    expect(one.directory.authenticate(B)).toBeUndefined();
    expect([...one.refused, ...two.refused]).toEqual([]);
  });

  test("says of a principal when the record was stored, later of each later one", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const { directory } = await world.addNode();
    const storedAtUs = () => directory.authenticate(A)?.storedAtUs ?? 0;
    const before = storedAtUs();
    expect(before).toBeGreaterThan(0);
    await world.store.update(ACME, (present) => ({ ...present, slots: { max: 1 } }));
    await until(directory, () => directory.authenticate(A)?.slots?.max === 1);
    expect(storedAtUs()).toBeGreaterThan(before);
  });

  test("hears of a change by its announcement, without asking in between", async () => {
    await using world = await openWorld();
    const { directory } = await world.addNode(undefined, NEVER_MS);
    await world.store.create(record(ACME, [A]));
    await until(directory, () => directory.authenticate(A) !== undefined);
    await world.store.update(ACME, (present) => ({ ...present, keys: [] }));
    await until(directory, () => directory.authenticate(A) === undefined);
  });

  test("hears of records that are gone, which is not announced", async () => {
    await using world = await openWorld();
    const { directory } = await world.addNode(undefined, 20);
    await world.store.create(record(ACME, [A]));
    await world.store.create(record(BETA, [B]));
    await until(directory, () => directory.authenticate(B) !== undefined);
    await world.askStream("PURGE", { filter: "$KV.TENANTS.acme" });
    await until(directory, () => directory.authenticate(A) === undefined);
    expect(directory.authenticate(B)).toBeDefined();
    await world.askStream("PURGE", {});
    await until(directory, () => directory.authenticate(B) === undefined);
    // Of a purged bucket it follows what is stored next.
    await world.store.create(record(ACME, [A]));
    await until(directory, () => directory.authenticate(A) !== undefined);
  });

  test("continues with what it has while its broker is away, and obeys a revocation of that time once it is back", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    await using proxy = await startTcpProxy({ target: { host: "127.0.0.1", port: world.server.port } });
    const { directory, broker } = await world.addNode(`nats://127.0.0.1:${proxy.port}`);
    proxy.setFaults({ toServer: { cutAfterBytes: 0 } });
    proxy.cutNow();
    await world.store.update(ACME, (present) => ({ ...present, keys: [] }));
    await expect(directory.sync()).rejects.toMatchObject({ code: "broker_unavailable" });
    expect(directory.authenticate(A)).toBeDefined();
    const obeyed = until(directory, () => directory.authenticate(A) === undefined);
    proxy.setFaults({});
    proxy.cutNow();
    await obeyed;
    expect(broker.main.isClosed()).toBe(false);
  });

  test("survives a broker that is killed, and one that comes back with an empty store", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const { directory } = await world.addNode();
    await world.server.kill("SIGKILL");
    expect(directory.authenticate(A)).toBeDefined();
    await world.server.restart();
    await world.store.update(ACME, (present) => ({ ...present, policy: { max_attempts: 2 } }));
    await until(directory, () => directory.find(ACME)?.policy.max_attempts === 2);
    const { config } = await world.askStream("INFO", {});
    await world.askStream("DELETE", {});
    await world.askStream("CREATE", config);
    await until(directory, () => directory.authenticate(A) === undefined);
    await world.store.create(record(BETA, [A]));
    await until(directory, () => directory.authenticate(A)?.tenant === BETA);
  });
});

describe("a record that can't be used", () => {
  test.each([
    ["of a newer version", (good: object) => ({ ...good, version: 2, keys: [] })],
    ["of another tenant", (good: object) => ({ ...good, id: "beta" })],
    [
      "with a role that does not exist",
      (good: { keys: object[] }) => ({ ...good, keys: [{ ...good.keys[0], roles: ["root"] }] }),
    ],
    ["that is not JSON", () => "{"],
  ] as const)("%s is refused and told, and the last good one stays", async (_, forge) => {
    await using world = await openWorld();
    const good = record(ACME, [A]);
    await world.store.create(good);
    const { directory, refused } = await world.addNode();
    const forged = forge(good);
    world.broker.main.publish(
      "$KV.TENANTS.acme",
      typeof forged === "string" ? forged : JSON.stringify(forged),
      { headers: publishedHeaders() },
    );
    await world.store.create(record(BETA, [B]));
    await until(directory, () => directory.authenticate(B) !== undefined);
    expect(refused).toEqual([["acme", expect.objectContaining({ code: "config_invalid" })]]);
    expect(directory.authenticate(A)).toMatchObject({ tenant: "acme", roles: new Set(["read"]) });
    // To a node that starts now there is no good one.
    const late = await world.addNode();
    expect(late.directory.authenticate(A)).toBeUndefined();
    expect(late.refused).toHaveLength(1);
  });

  test.each([
    ["copy there", { last_by_subj: "$KV.TENANTS.beta" }],
    ["copy there without headers", { last_by_subj: "$KV.TENANTS.beta", no_hdr: true }],
    ["answer there that there is no such message", { last_by_subj: "$KV.TENANTS.none" }],
  ])("that a service which may not write it has had the broker %s is refused and told", async (_, get) => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const { directory, refused } = await world.addNode();
    // What it stores where it may publish, the broker answers to the subject that its request names.
    const { main } = world.broker;
    const forged = record(ACME, [B], { roles: ["admin"] });
    await main.request("$KV.TENANTS.beta", JSON.stringify(forged), { timeout: PATIENCE_MS });
    const stored = Promise.withResolvers<void>();
    main.subscribe("live.tenants.acme", { max: 1, callback: () => stored.resolve() });
    main.publish("$JS.API.DIRECT.GET.KV_TENANTS", JSON.stringify(get), { reply: "$KV.TENANTS.acme" });
    await stored.promise;
    await directory.sync();
    expect(refused).toContainEqual(["acme", expect.objectContaining({ code: "protocol_violation" })]);
    expect(directory.authenticate(B)).toBeUndefined();
    expect(directory.authenticate(A)).toMatchObject({ tenant: "acme", roles: new Set(["read"]) });
    const late = await world.addNode();
    expect(late.directory.authenticate(B)).toBeUndefined();
  });

  test("says once that it can't read the bucket while it is connected, and that it can again; it continues with what it has", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const told = vi.fn<OnStale>();
    const { directory } = await world.addNode(undefined, 20, { onStale: told, staleMs: 2_000 });
    const { config } = await world.askStream("INFO", undefined);
    await world.askStream("DELETE", undefined);
    const because = expect.objectContaining({ message: expect.stringContaining("KV_TENANTS") });
    await expect.poll(() => told.mock.calls).toEqual([["the tenants", because]]);
    expect(directory.authenticate(A)?.tenant).toBe("acme");
    await world.askStream("CREATE", config);
    await until(directory, () => directory.authenticate(A) === undefined);
    await directory.sync();
    expect(told.mock.calls).toEqual([
      ["the tenants", because],
      ["the tenants", undefined],
    ]);
  });

  test("reads a message under a foreign subject, which a consumer was made to answer into the bucket, once", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const { directory } = await world.addNode(undefined, NEVER_MS);
    const { main } = world.broker;
    const ask = (subject: string, request: object) =>
      main.request(subject, JSON.stringify(request), { timeout: PATIENCE_MS });
    await ask("$JS.API.STREAM.CREATE.OTHER", { name: "OTHER", subjects: ["other"], storage: "memory" });
    const config = { durable_name: "c", ack_policy: "explicit" };
    await ask("$JS.API.CONSUMER.CREATE.OTHER.c", { stream_name: "OTHER", config });
    await ask("other", {});
    main.publish("$JS.API.CONSUMER.MSG.NEXT.OTHER.c", "1", { reply: "$KV.TENANTS.acme" });
    await expect
      .poll(async () => (await readStreamInfo(main, "KV_TENANTS")).lastStreamSeq)
      .toBeGreaterThan(1);
    await directory.sync();
    let reads = 0;
    main.subscribe("$JS.API.DIRECT.GET.KV_TENANTS", { callback: () => void reads++ });
    await main.flush();
    await directory.sync();
    await main.flush();
    expect(reads).toBe(0);
    await world.store.update(ACME, (present) => ({ ...present, keys: [] }));
    await directory.sync();
    expect(directory.authenticate(A)).toBeUndefined();
  });

  test("never takes a key from the tenant that has it, and is used once that gives it up", async () => {
    await using world = await openWorld();
    await world.store.create(record(ACME, [A]));
    const { directory, refused } = await world.addNode();
    await world.store.create(record(BETA, [B, A], { roles: ["admin"] }));
    await directory.sync();
    expect(refused).toEqual([["beta", expect.objectContaining({ code: "config_invalid" })]]);
    expect(directory.authenticate(A)?.tenant).toBe("acme");
    expect(directory.authenticate(B)).toBeUndefined();
    await world.store.update(ACME, (present) => ({ ...present, keys: [] }));
    await directory.sync();
    expect(directory.authenticate(A)?.tenant).toBe("beta");
  });
});
