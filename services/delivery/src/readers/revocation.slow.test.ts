import { openSseReader, type SseReader, startTcpProxy } from "@reprise/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { hashKey, type TenantRecord } from "@reprise/tenancy";
import { openRawConnection } from "../testing/raw-connection.ts";
import { parseTenantId } from "@reprise/protocol";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";

const ACME = parseTenantId("acme");

/** Reads a generation's stream on each node with this key, up to the first event. */
async function attach(urls: readonly string[], path: string, key: string) {
  const readers = await Promise.all(
    urls.map((url) => openSseReader(`${url}${path}/events`, { headers: authorization(key) })),
  );
  for (const reader of readers) expect((await reader.nextFrame())?.id).toBe("1-1");
  return readers;
}

/** The last of what a reader is sent. */
async function lastOf(reader: SseReader) {
  const end = await reader.ended;
  return { last: reader.frames.at(-1), end };
}

type Change = (present: TenantRecord) => TenantRecord;
const changed = ({ node }: Platform, change: Change) => node.tenants!.store.update(ACME, change);
/** The key of the reader's: the second one of the tenant. */
const withKey =
  (next: (key: TenantRecord["keys"][number]) => TenantRecord["keys"]): Change =>
  (present) => ({ ...present, keys: present.keys.flatMap((key, i) => (i === 1 ? next(key) : [key])) });

/** The date of all nodes, which run in this process, for the rest of the test. */
function moveDateTo(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: ms });
  onTestFinished(() => void vi.useRealTimers());
}

describe("a reader that is attached", () => {
  test.each([
    ["whose key is revoked", withKey(() => [])],
    ["whose key loses its role", withKey((key) => [{ ...key, roles: ["cancel"] }])],
    ["whose key is to have expired", withKey((key) => [{ ...key, expires_at: "2026-01-01T00:00:00Z" }])],
  ] as const)(
    "%s is broken off in band on every node, others continue, and so does the generation",
    async (_, change) => {
      await using platform = await openPlatform({ liveTenants: true });
      const other = await platform.addNode({ liveTenants: true });
      const { path, worker } = await createGeneration(platform);
      await append(worker, started());
      const urls = [platform.node.url, other.url];
      const refused = await attach(urls, path, KEYS.acmeReader);
      const [kept] = await attach([other.url], path, KEYS.acme);
      await changed(platform, change);
      for (const reader of refused) {
        const { last, end } = await lastOf(reader);
        expect(last).toMatchObject({
          event: "error",
          data: expect.stringContaining('"code":"unauthenticated"'),
        });
        expect(end).toBe("broken");
      }
      for (const url of urls)
        expect((await call(`${url}${path}`, { key: KEYS.acmeReader })).status).toBeOneOf([401, 403]);
      await append(worker, delta("a"), completed());
      expect(await lastOf(kept!)).toMatchObject({ last: { id: "1-3" }, end: "clean" });
      await using resumed = await openSseReader(`${other.url}${path}/events?after=1-1`, {
        headers: authorization(),
      });
      expect((await resumed.nextFrame())?.id).toBe("1-2");
    },
  );

  test("whose tenant is removed is broken off, and one of another tenant is not", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    const { path, worker } = await createGeneration(platform);
    const beta = await createGeneration(platform, { key: KEYS.beta });
    await append(worker, started());
    await append(beta.worker, started());
    const [reader] = await attach([platform.node.url], path, KEYS.acme);
    const [others] = await attach([platform.node.url], beta.path, KEYS.beta);
    await platform.node.tenants!.store.remove(ACME);
    expect((await lastOf(reader!)).end).toBe("broken");
    await append(beta.worker, completed());
    expect((await lastOf(others!)).end).toBe("clean");
  });

  test("is broken off when its key expires, without a change that says so", async () => {
    await using platform = await openPlatform({ liveTenants: true, heartbeatMs: 20 });
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const untilMs = Date.now() + 600_000;
    await changed(
      platform,
      withKey((key) => [{ ...key, expires_at: new Date(untilMs).toISOString() }]),
    );
    await platform.node.tenants!.directory.sync();
    const [reader] = await attach([platform.node.url], path, KEYS.acmeReader);
    moveDateTo(untilMs);
    expect((await lastOf(reader!)).last).toMatchObject({ event: "error" });
  });

  test("is broken off when its key expires that was rotated after it came", async () => {
    await using platform = await openPlatform({ liveTenants: true, heartbeatMs: 20 });
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const [reader] = await attach([platform.node.url], path, KEYS.acmeReader);
    const untilMs = Date.now() + 600_000;
    await changed(
      platform,
      withKey((key) => [{ ...key, expires_at: new Date(untilMs).toISOString() }]),
    );
    await platform.node.tenants!.directory.sync();
    moveDateTo(untilMs);
    expect((await lastOf(reader!)).last).toMatchObject({ event: "error" });
  });

  test("is broken off by a node that was cut off from the broker during the revocation, once that is back", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    await using proxy = await startTcpProxy({ target: { port: platform.server.port } });
    const away = await platform.addNode({ liveTenants: true, natsUrl: `nats://127.0.0.1:${proxy.port}` });
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const [reader] = await attach([away.url], path, KEYS.acmeReader);
    proxy.setFaults({ toServer: { cutAfterBytes: 0 } });
    proxy.cutNow();
    await changed(
      platform,
      withKey(() => []),
    );
    await platform.node.tenants!.directory.sync();
    const told = lastOf(reader!);
    proxy.setFaults({});
    proxy.cutNow();
    expect((await told).last).toMatchObject({ event: "error" });
  });
});

test("a request whose key is revoked while its body is on its way does nothing", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  const body = JSON.stringify({ name: "kept", roles: ["admin"] });
  await using connection = await openRawConnection(platform.node.url);
  const head = [
    "POST /v1/admin/tenants/acme/keys HTTP/1.1",
    "host: x",
    `authorization: Bearer ${KEYS.acmeAdmin}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "expect: 100-continue",
  ];
  connection.send(`${head.join("\r\n")}\r\n\r\n`);
  await connection.until("HTTP/1.1 100");
  const holdersOf = ({ keys }: TenantRecord) => keys.map(({ name }) => name);
  await changed(platform, (present) => ({
    ...present,
    keys: present.keys.filter(({ sha256 }) => sha256 !== hashKey(KEYS.acmeAdmin)),
  }));
  await platform.node.tenants!.directory.sync();
  connection.send(body);
  await connection.until("HTTP/1.1 401");
  expect(holdersOf((await platform.node.tenants!.store.read(ACME))!.record)).not.toContain("kept");
});

test("a tenant that may use some models is refused others, from its next request on", async () => {
  await using platform = await openPlatform({ liveTenants: true, models: new Set(["sim", "large"]) });
  const create = (model: string) =>
    call(`${platform.node.url}/v1/generations`, { body: { model, input: "x" } });
  expect((await create("large")).status).toBe(201);
  await changed(platform, (present) => ({ ...present, models: ["sim"] }));
  await platform.node.tenants!.directory.sync();
  expect(await create("large")).toMatchObject({
    status: 403,
    json: { error: { code: "model_not_allowed", param: "model" } },
  });
  expect((await create("sim")).status).toBe(201);
});
