import { writeFile } from "node:fs/promises";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const BODY = { model: "sim", input: "A secret of acme.", options: { tokens: 20, tokens_per_second: 0 } };
const NOT_FOUND = {
  error: expect.objectContaining({ code: "generation_not_found", retryable: false }) as unknown,
};

interface Call {
  method?: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
}

test("two tenants never see each other's: law 9, over the whole API", async () => {
  await using cluster = await startCluster({ tenants: ["acme", "globex"] });
  const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const call = (tenant: string, path: string, init: Call = {}) =>
    fetch(`${url}/v1/generations${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${cluster.keys[tenant]}`,
        "content-type": "application/json",
        ...init.headers,
      },
    });
  const create = async (tenant: string, headers: Record<string, string> = {}) => {
    const response = await call(tenant, "", { method: "POST", body: JSON.stringify(BODY), headers });
    return { status: response.status, id: ((await response.json()) as { id: string }).id };
  };

  const mine = await create("acme", { "idempotency-key": "order-7" });
  const own = await openSseReader(`${url}/v1/generations/${mine.id}/events`, {
    headers: { authorization: `Bearer ${cluster.keys["acme"]}` },
  });
  await own.ended;
  const cursor = own.frames[1]!.id;
  const before = await cluster.readLog("acme", mine.id);

  const intrusions: [name: string, answer: Promise<Response>][] = [
    ["reads it", call("globex", `/${mine.id}`)],
    ["streams it", call("globex", `/${mine.id}/events`, { headers: { accept: "text/event-stream" } })],
    ["resumes it with a cursor", call("globex", `/${mine.id}/events?after=${cursor}`)],
    [
      "resumes it by a header",
      call("globex", `/${mine.id}/events`, { headers: { "last-event-id": cursor } }),
    ],
    ["pages it", call("globex", `/${mine.id}/events`, { headers: { accept: "application/json" } })],
    ["polls it", call("globex", `/${mine.id}/events?wait=100`, { headers: { accept: "application/json" } })],
    [
      "answers its tool calls",
      call("globex", `/${mine.id}/tool-results`, { method: "POST", body: '{"call_id":"c","output":1}' }),
    ],
    ["sees what was judged of it", call("globex", `/${mine.id}/moderation`)],
    ["cancels it", call("globex", `/${mine.id}/cancel`, { method: "POST", body: "{}" })],
  ];
  for (const [name, answer] of intrusions) {
    const response = await answer;
    expect({ name, status: response.status, body: await response.json() }).toEqual({
      name,
      status: 404,
      body: NOT_FOUND,
    });
  }
  expect(await cluster.readLog("acme", mine.id)).toEqual(before);

  // The same idempotency key is another generation, and nothing leaks through a create that resumes.
  const theirs = await create("globex", { "idempotency-key": "order-7" });
  expect(theirs).toMatchObject({ status: 201 });
  expect(theirs.id).not.toBe(mine.id);
  const resumed = await call("globex", "", {
    method: "POST",
    body: JSON.stringify(BODY),
    headers: { "idempotency-key": "order-8", "last-event-id": cursor, accept: "text/event-stream" },
  });
  expect([resumed.status, await resumed.json()]).toMatchObject([400, { error: { code: "cursor_invalid" } }]);
  // Another tenant's generation is answered like one that does not exist, word for word.
  const nobodys = mine.id.slice(0, -4) + "0000";
  const [other, nobody] = await Promise.all(
    [mine.id, nobodys].map(async (id) => (await call("globex", `/${id}`)).text()),
  );
  expect(other).toBe(nobody);
});

test("an id with the syntax of a subject is no generation's", async () => {
  await using cluster = await startCluster();
  const { url } = await cluster.startDelivery();
  const headers = { authorization: `Bearer ${cluster.keys["acme"]}` };
  const ids = ["*", ">", "gen_0_*", "gen_0_>", "gen.0.acme.x", "gen_0_%2e", "gen_0_\r\n"];
  for (const id of ids) {
    const response = await fetch(`${url}/v1/generations/${encodeURIComponent(id)}/events`, { headers });
    expect({ id, status: response.status, body: await response.json() }).toEqual({
      id,
      status: 404,
      body: NOT_FOUND,
    });
  }
});

test("a tenants file is read again on SIGHUP: keys come and go, and a broken file changes nothing", async () => {
  await using cluster = await startCluster();
  const delivery = await cluster.startDelivery();
  const statusFor = async (key: string) => {
    const response = await fetch(`${delivery.url}/v1/generations/nobodys`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return response.status;
  };
  const old = cluster.keys["acme"]!;
  const next = "rk_acme_the-key-after-the-next";
  expect([await statusFor(old), await statusFor(next)]).toEqual([404, 401]);

  await writeFile(cluster.tenantsFile, "{ not JSON");
  delivery.kill("SIGHUP");
  await delivery.logged("configuration not read again; the old one stays");
  expect([await statusFor(old), await statusFor(next)]).toEqual([404, 401]);

  const tenants = [{ id: "acme", keys: [{ secret: next, roles: ["read"] }] }];
  await writeFile(cluster.tenantsFile, JSON.stringify({ tenants }));
  delivery.kill("SIGHUP");
  await delivery.logged("configuration read again");
  expect([await statusFor(old), await statusFor(next)]).toEqual([401, 404]);
});
