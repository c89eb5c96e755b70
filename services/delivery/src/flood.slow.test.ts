import { once } from "node:events";
import { connect } from "node:net";
import { delta, openSseReader } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  deltas,
  KEYS,
  openPlatform,
  REQUEST,
  started,
} from "./testing/platform.ts";

const MIB = 1_024 * 1_024;
const REQUEST_BYTES = 12 * MIB;
const LARGE = JSON.stringify({ ...REQUEST, input: "x".repeat(1_000_000) });

const platform = await openPlatform({ requestBytes: REQUEST_BYTES });
afterAll(() => platform[Symbol.asyncDispose]());
const { node } = platform;

async function reservedBytes(): Promise<number> {
  const { text } = await call(`${node.opsUrl}/metrics`);
  return Number(/^reprise_request_bytes (\d+)$/m.exec(text)![1]);
}

test.each([60, 200])(
  "of %i creates of 1 MB at once those over the tenant's share are refused, and no other tenant notices",
  async (count) => {
    const generation = await createGeneration(platform, { key: KEYS.beta });
    const headers = authorization(KEYS.beta);
    await using reader = await openSseReader(`${node.url}${generation.path}/events`, { headers });
    let isOver = false;
    const flood = Promise.all(
      Array.from({ length: count }, () => call(`${node.url}/v1/generations`, { body: LARGE })),
    ).finally(() => (isOver = true));

    const others: number[] = [];
    const reserved: number[] = [];
    await append(generation.worker, started());
    for (let i = 0; i < 5 || !isOver; i++) {
      const body = { ...REQUEST, input: i === 0 ? "x".repeat(1_000_000) : "hello" };
      others.push((await call(`${node.url}/v1/generations`, { body, key: KEYS.beta })).status);
      reserved.push(await reservedBytes());
      await append(generation.worker, ...deltas(1, i));
    }
    await append(generation.worker, completed());

    const answers = await flood;
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(count);
    for (const { status, headers: said, json } of refused) {
      expect([status, said.get("retry-after")]).toEqual([503, expect.stringMatching(/^[1-5]$/)]);
      expect(json).toMatchObject({ error: { code: "overloaded", retryable: true } });
    }
    expect(others.filter((status) => status !== 201)).toEqual([]);
    expect(await reader.ended).toBe("clean");
    expect(Math.max(...reserved)).toBeLessThanOrEqual(REQUEST_BYTES);
    await expect.poll(reservedBytes).toBe(0);
    expect(node.logged).not.toMatch(/"level":"error"/);
  },
);

test("what was refused is taken when it comes again later, and a stream that a large create is answered with holds nothing", async () => {
  const headers = { accept: "text/event-stream", ...authorization() };
  const request = { method: "POST", body: JSON.parse(LARGE) as unknown, headers } as const;
  await using reader = await openSseReader(`${node.url}/v1/generations`, request);
  expect(reader.status).toBe(201);
  await expect.poll(reservedBytes).toBe(0);
});

test("a client that does not read its answer holds up no other tenant's large request", async () => {
  const { path, worker } = await createGeneration(platform);
  // More than the system keeps for a connection.
  const texts = Array.from({ length: 16 }, () => delta("x".repeat(MIB)));
  await append(worker, started(), ...texts);
  const { hostname, port } = new URL(node.url);
  const socket = connect({ host: hostname, port: Number(port) });
  try {
    const body = "{}".padEnd(100_000);
    const fields = { host: "x", "content-type": "application/json", "content-length": `${body.length}` };
    const headers = Object.entries({ ...fields, ...authorization() }).map((field) => field.join(": "));
    socket.write([`POST ${path}/cancel HTTP/1.1`, ...headers, "", body].join("\r\n"));
    await once(socket, "readable");
    expect(socket.read(12)?.toString()).toBe("HTTP/1.1 200");
    const { status } = await call(`${node.url}/v1/generations`, { body: LARGE, key: KEYS.beta });
    expect(status).toBe(201);
  } finally {
    socket.destroy();
  }
});
