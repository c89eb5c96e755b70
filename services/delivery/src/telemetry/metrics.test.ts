import { encodeCursor, parseGenerationId, parseTenantId, START } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  type Node,
  openPlatform,
  openWorker,
  REQUEST,
  started,
} from "../testing/platform.ts";

const HEADERS = authorization();

/** The series of a metric with their values, by their labels as they are exposed. */
async function seriesOf({ opsUrl }: Node, name: string): Promise<Record<string, number>> {
  const { text } = await call(`${opsUrl}/metrics`);
  const lines = text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, "gm"));
  return Object.fromEntries([...lines].map(([, labels, value]) => [labels ?? "", Number(value)]));
}

/** Series that a node has soon: an answer is over for its client a moment before it is for the node. */
const series = (node: Node, name: string) => expect.poll(() => seriesOf(node, name));

const untilInFlight = (node: Node, count: number) =>
  series(node, "reprise_http_requests_in_flight").toEqual({ 'service="delivery"': count });

const http = (method: string, route: string, status: string) =>
  `service="delivery",method="${method}",route="${route}",status="${status}"`;

describe("HTTP metrics", () => {
  test("have the template of a route, never the path, and count a stream at its head", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    await call(`${node.url}${path}`);
    await call(`${node.url}/v1/generations/${"x".repeat(50)}`);
    await call(`${node.url}/no/such/path`);
    await call(`${node.url}/v1/generations`, { method: "OPTIONS", headers: { origin: "https://a.example" } });
    await using open = await openSseReader(`${node.url}${path}/events`, { headers: HEADERS });
    expect(open.status).toBe(200);
    await series(node, "reprise_http_request_seconds_count").toEqual({
      [http("POST", "/v1/generations", "2xx")]: 1,
      [http("GET", "/v1/generations/:id", "2xx")]: 1,
      [http("GET", "/v1/generations/:id", "4xx")]: 1,
      [http("GET", "none", "4xx")]: 1,
      [http("OPTIONS", "*", "2xx")]: 1,
      [http("GET", "/v1/generations/:id/events", "2xx")]: 1,
    });
    await untilInFlight(node, 1);
    open.cut();
    await untilInFlight(node, 0);
  });

  test("tell of a client that leaves before its answer", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path } = await createGeneration(platform);
    await untilInFlight(node, 0);
    const leave = new AbortController();
    const after = encodeCursor(START);
    const polling = call(`${node.url}${path}/events?wait=20000&after=${after}`, {
      headers: { accept: "application/json" },
      signal: leave.signal,
    });
    await untilInFlight(node, 1);
    leave.abort();
    await expect(polling).rejects.toThrow();
    await series(node, "reprise_http_request_seconds_count").toMatchObject({
      [http("GET", "/v1/generations/:id/events", "left")]: 1,
    });
  });
});

describe("the first event", () => {
  const counts = (node: Node) => seriesOf(node, "reprise_first_event_seconds_count");

  test("is measured of streams that are there before it, from their request to its write, and of no others", async () => {
    await using platform = await openPlatform();
    const { node, log } = platform;
    await using created = await openSseReader(`${node.url}/v1/generations`, {
      method: "POST",
      headers: HEADERS,
      body: REQUEST,
    });
    const generation = parseGenerationId(String(created.headers["reprise-generation-id"]));
    const worker = await openWorker(log, { tenant: parseTenantId("acme"), generation });
    const url = `${node.url}/v1/generations/${generation}/events`;
    await using early = await openSseReader(url, { headers: HEADERS });
    await append(worker, started());
    await created.nextFrame();
    expect(await counts(node)).toEqual({ 'call="create"': 0, 'call="read"': 0 });
    await append(worker, delta("a"));
    await created.nextFrame();
    await using late = await openSseReader(url, { headers: HEADERS });
    await append(worker, delta("b"), completed());
    for (const reader of [created, early, late]) expect(await reader.ended).toBe("clean");
    expect(await counts(node)).toEqual({ 'call="create"': 1, 'call="read"': 1 });
    const sums = await seriesOf(node, "reprise_first_event_seconds_sum");
    expect(sums['call="create"']).toBeGreaterThan(0);
  });
});

describe("the way from the broker's store to readers", () => {
  test("is timed for one event in 32 and each reader that is there, and not for those that catch up", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path, worker } = await createGeneration(platform);
    const url = `${node.url}${path}/events`;
    await using one = await openSseReader(url, { headers: HEADERS });
    await using other = await openSseReader(url, { headers: HEADERS });
    await append(worker, started(), ...deltas(63));
    for (const reader of [one, other]) for (let seen = 0; seen < 64; seen++) await reader.nextFrame();
    await using late = await openSseReader(url, { headers: HEADERS });
    for (let seen = 0; seen < 64; seen++) await late.nextFrame();
    const counts = await seriesOf(node, "reprise_stored_to_delivered_seconds_count");
    expect(counts).toEqual({
      'moderation="none"': 4,
      'moderation="observe"': 0,
      'moderation="retract"': 0,
      'moderation="gate"': 0,
    });
    const sums = await seriesOf(node, "reprise_stored_to_delivered_seconds_sum");
    expect(sums['moderation="none"']).toBeGreaterThanOrEqual(0);
  });
});

describe("readers", () => {
  test("are counted by how their streams were resumed, and why those ended", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), delta("b"));
    const url = `${node.url}${path}/events`;
    const first = await openSseReader(url, { headers: HEADERS });
    await first.nextFrame();
    const { lastEventId } = first;
    first.cut();
    await append(worker, completed());
    await using resumed = await openSseReader(url, { headers: HEADERS, lastEventId });
    expect(await resumed.ended).toBe("clean");
    const { status } = await call(url, {
      headers: { accept: "text/event-stream", "last-event-id": resumed.lastEventId },
    });
    expect(status).toBe(204);
    const { text } = await call(url, {
      headers: { accept: "text/event-stream", "last-event-id": encodeCursor(START) },
    });
    expect(text).toContain("generation.completed");
    await series(node, "reprise_resumes_total").toEqual({
      'result="resumed"': 1,
      'result="ended"': 1,
    });
    await series(node, "reprise_readers_ended_total").toEqual({ 'reason="left"': 1, 'reason="ended"': 2 });
    await untilInFlight(node, 0);
  });

  test("with a cursor of another log were not resumed, and are not counted as if theirs were gone", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const { status } = await call(`${node.url}${path}/events`, {
      headers: { accept: "text/event-stream", "last-event-id": "9-9" },
    });
    expect(status).toBe(400);
    expect(await seriesOf(node, "reprise_resumes_total")).toEqual({});
  });

  test("that cancel are counted, once for each generation, by whose doing its end is", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path } = await createGeneration(platform);
    for (let calls = 0; calls < 2; calls++) await call(`${node.url}${path}/cancel`, { body: {} });
    expect(await seriesOf(node, "reprise_generations_ended_total")).toEqual({
      'status="cancelled",fault="client"': 1,
    });
  });

  test("that a drain disconnects are counted so, and creates by model but for joins", async () => {
    await using platform = await openPlatform();
    const { node } = platform;
    const { path } = await createGeneration(platform, { headers: { "idempotency-key": "k" } });
    await call(`${node.url}/v1/generations`, { body: REQUEST, headers: { "idempotency-key": "k" } });
    await call(`${node.url}/v1/generations`, { body: { ...REQUEST, model: "none" } });
    expect(await seriesOf(node, "reprise_generations_created_total")).toEqual({ 'model="sim"': 1 });
    await using reader = await openSseReader(`${node.url}${path}/events`, { headers: HEADERS });
    node.delivery.drain();
    await reader.ended;
    await series(node, "reprise_readers_ended_total").toEqual({ 'reason="drained"': 1 });
  });
});
