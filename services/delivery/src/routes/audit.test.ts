import { jetstreamManager } from "@nats-io/jetstream";
import { OPS_STREAM } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { forget, openAuditedPlatform, readAccesses } from "../testing/audited-platform.ts";
import { SEARCH_PAGE } from "../testing/fake-audit-log.ts";
import {
  append,
  call,
  callOnce,
  completed,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  started,
} from "../testing/platform.ts";

const key = KEYS.acmeAuditor;
const LIST = "/v1/audit/generations";

describe("an auditor", () => {
  test("lists and searches its own tenant's archive, by all that narrows", async () => {
    await using platform = await openAuditedPlatform();
    const { url } = platform.node;
    const query =
      "from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z&model=sim&status=failed&subject=p1&limit=7&after=x&metadata[user]=7&metadata[a b]=";
    const answers = [
      await call(url + LIST, { key }),
      await call(`${url}${LIST}?${query}`, { key: KEYS.betaAuditor }),
    ];
    expect(answers.map(({ status, json, headers }) => [status, json, headers.get("cache-control")])).toEqual(
      answers.map(() => [200, SEARCH_PAGE, "no-store"]),
    );
    expect(platform.audit.calls).toEqual([
      { call: "search", request: { tenant: "acme", limit: 100 } },
      {
        call: "search",
        request: {
          tenant: "beta",
          from: "2026-11-20T00:00:00Z",
          to: "2026-11-21T00:00:00Z",
          model: "sim",
          status: "failed",
          subject: "p1",
          metadata: { user: "7", "a b": "" },
          limit: 7,
          after: "x",
        },
      },
    ]);
  });

  test("is told which parameter is wrong, and is asked for nothing then", async () => {
    await using platform = await openAuditedPlatform();
    const wrong = [
      ["from=yesterday", "from"],
      ["from=2026-11-20T00:00:00", "from"],
      ["from=2026-11-20T00:00:00Z&to=2026-11-20T00:00:00Z", "to"],
      ["status=done", "status"],
      ["model=", "model"],
      ["subject=", "subject"],
      [`subject=${"x".repeat(129)}`, "subject"],
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["limit=1&limit=2", "limit"],
      [`after=${"x".repeat(1_025)}`, "after"],
      ["tenant=beta", "tenant"],
      ["metadata=x", "metadata"],
      ["metadata[]=x", "metadata[]"],
      ["metadata[k]=1&metadata[k]=2", "metadata[k]"],
      [`metadata[k]=${"x".repeat(513)}`, "metadata[k]"],
      [`metadata[${"k".repeat(65)}]=x`, `metadata[${"k".repeat(65)}]`],
      [Array.from({ length: 17 }, (_, i) => `metadata[${i}]=x`).join("&"), "metadata"],
    ];
    for (const [query, param] of wrong) {
      const { status, json } = await call(`${platform.node.url}${LIST}?${query}`, { key });
      expect([query, status, json]).toMatchObject([
        query,
        400,
        { error: { code: "invalid_request", param } },
      ]);
    }
    expect(platform.audit.calls).toEqual([]);
    expect(await readAccesses(platform)).toEqual([]);
  });

  test("records every access before the response", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker, generation } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    await platform.audit.archive(ref);
    const recorded: number[] = [];
    platform.audit.intercept = async () => void recorded.push((await readAccesses(platform)).length);
    const { url } = platform.node;
    const json = { accept: "application/json" };
    await call(`${url}${LIST}`, { key });
    await call(`${url}${LIST}?subject=p1&metadata[user]=7&model=sim`, { key });
    await call(`${url}${LIST}/${generation.id}`, { key });
    await call(`${url}${path}`, { key });
    await call(`${url}${path}/events`, { key });
    await call(`${url}${path}/events?after=1-1`, { key, headers: json });
    await call(`${url}${path}/events?original=true`, { key: KEYS.acmeReadingAuditor });
    const by = { kind: "access", at: expect.any(String), by: "eve", address: "loopback" };
    const hash = expect.stringMatching(/^sha256:[0-9a-f]{16}$/);
    expect((await readAccesses(platform)).map(({ generation: of, record }) => [of, record])).toEqual([
      [undefined, { ...by, call: "list", query: { limit: "100" } }],
      [
        undefined,
        {
          ...by,
          call: "search",
          query: { limit: "100", model: "sim", subject: hash, "metadata[user]": hash },
        },
      ],
      [generation.id, { ...by, call: "read" }],
      [generation.id, { ...by, call: "read", query: { original: "false" } }],
      [generation.id, { ...by, call: "replay", query: { after: "0-0", original: "false" } }],
      [generation.id, { ...by, call: "replay", query: { after: "1-1", original: "false" } }],
      [generation.id, { ...by, by: "una", call: "replay", query: { after: "0-0", original: "true" } }],
    ]);
    expect(recorded).toEqual([1, 2, 3, 7]);
  });

  test("is shown nothing that can't be recorded", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker, generation } = await createGeneration(platform);
    await append(worker, started(), completed());
    await platform.audit.archive(ref);
    await (await jetstreamManager(platform.broker.main)).streams.delete(OPS_STREAM);
    const paths = [LIST, `${LIST}/${generation.id}`, path, `${path}/events`];
    const answers = await Promise.all(paths.map((at) => callOnce(platform.node.url + at, { key })));
    expect(answers.map(({ status, json }) => [status, json])).toMatchObject(
      paths.map(() => [503, { error: { code: "broker_unavailable" } }]),
    );
    expect(platform.audit.calls).toEqual([]);
  });

  test("reads what is live from the live log, like any reader", async () => {
    await using platform = await openAuditedPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    for (const at of [path, `${path}/events`]) {
      const [auditors, readers] = [
        await call(platform.node.url + at, { key }),
        await call(platform.node.url + at, { key: KEYS.acmeReader }),
      ];
      expect(auditors.text).toBe(readers.text);
    }
    expect(platform.audit.calls).toEqual([]);
  });

  test("gets one generation's record, and an error for what is unknown or erased", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker, generation } = await createGeneration(platform);
    await append(worker, started(), completed());
    const { url } = platform.node;
    const codeOf = async (at: string) => {
      const { status, json } = await call(url + at, { key });
      return [status, (json as { error?: { code: string } }).error?.code];
    };
    expect(await codeOf(`${LIST}/${generation.id}`)).toEqual([404, "generation_not_found"]);
    expect(await codeOf(`${LIST}/nonsense`)).toEqual([404, "generation_not_found"]);
    await platform.audit.archive(ref);
    expect((await call(`${url}${LIST}/${generation.id}`, { key })).json).toMatchObject({ id: generation.id });
    await forget(platform, ref);
    platform.audit.erase(ref);
    const node = await platform.addNode();
    for (const at of [path, `${path}/events`, `${path}/events?original=true`]) {
      const { status, json } = await call(node.url + at, { key });
      expect([status, json]).toMatchObject([410, { error: { code: "generation_erased" } }]);
    }
  });
});

test("without the role, nothing of the archive is there", async () => {
  await using platform = await openAuditedPlatform();
  const { path, ref, worker, generation } = await createGeneration(platform);
  await append(worker, started(), completed());
  await platform.audit.archive(ref);
  await forget(platform, ref);
  const node = await platform.addNode();
  const answers = [];
  for (const at of [
    LIST,
    `${LIST}/${generation.id}`,
    `${path}?original=true`,
    `${path}/events?original=true`,
  ]) {
    const { status, json } = await call(node.url + at);
    answers.push([status, json]);
  }
  const forbidden = { error: { code: "forbidden", message: expect.stringContaining('"audit"') } };
  expect(answers).toMatchObject(answers.map(() => [403, forbidden]));
  expect((await call(`${node.url}${path}/events`, { key: KEYS.acmeReader })).status).toBe(404);
  expect((await call(`${node.url}${path}/events`, { key: KEYS.acmeReviewer })).status).toBe(403);
  expect(platform.audit.calls).toEqual([]);
  expect(await readAccesses(platform)).toEqual([]);
});

test("another tenant's generation does not exist for an auditor, live or archived", async () => {
  await using platform = await openAuditedPlatform();
  const { path, ref, worker, generation } = await createGeneration(platform);
  await append(worker, started(), delta("secret"), completed());
  await platform.audit.archive(ref);
  const ask = async () => {
    for (const at of [`${LIST}/${generation.id}`, path, `${path}/events`, `${path}/events?original=true`]) {
      const { status, json } = await call(platform.node.url + at, { key: KEYS.betaAuditor });
      expect([at, status, json]).toMatchObject([at, 404, { error: { code: "generation_not_found" } }]);
    }
  };
  await ask();
  expect((await call(`${platform.node.url}${path}/events`, { key })).text).toContain("secret");
  await ask();
  await forget(platform, ref);
  await ask();
  const asked = platform.audit.calls.map(({ request }) => (request as { tenant: string }).tenant);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((tenant) => tenant !== "beta")).toEqual([]);
  const looks = await readAccesses(platform);
  expect(new Set(looks.map(({ tenant }) => tenant))).toEqual(new Set(["acme", "beta"]));
});

test("a key that reads and audits reads the archive where the live log is gone, on record", async () => {
  await using platform = await openAuditedPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"), completed());
  const read = async (url: string) =>
    (await call(`${url}${path}/events`, { key: KEYS.acmeReadingAuditor })).text;
  const live = await read(platform.node.url);
  await platform.audit.archive(ref);
  expect(await readAccesses(platform)).toEqual([]);
  await forget(platform, ref);
  expect(await read((await platform.addNode()).url)).toBe(live);
  expect(await readAccesses(platform)).toMatchObject([{ record: { by: "una", call: "replay" } }]);
});

test("without an audit log auditors get a retryable error, and readers are not affected", async () => {
  await using platform = await openPlatform();
  const { path, generation } = await createGeneration(platform);
  const { url } = platform.node;
  for (const at of [LIST, `${LIST}/${generation.id}`, `${path}/events?original=true`]) {
    const { status, json, headers } = await call(url + at, { key });
    expect([status, json, headers.get("retry-after")]).toMatchObject([
      503,
      { error: { code: "audit_unavailable", retryable: true } },
      "1",
    ]);
  }
  expect((await call(url + path)).status).toBe(200);
});
