import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toUsageEvent, type UsageEvent } from "@reprise/facts";
import { createRef } from "@reprise/testkit";
import { expect, test } from "vitest";
import { generationRowOf } from "../testing/generation-row.ts";
import { toUsageSinks } from "../usage.ts";
import type { LagoEvent } from "./lago-event.ts";
import { createLagoSink } from "./lago-sink.ts";

const SETTINGS = {
  REPRISE_USAGE_SOURCE: "/test",
  REPRISE_USAGE_STREAM: "off",
  REPRISE_USAGE_LAGO_CODE: "reprise_usage",
} as never;

function eventsOf(count: number, tenant = "acme"): UsageEvent[] {
  return Array.from({ length: count }, () =>
    toUsageEvent(generationRowOf(createRef(tenant)), { source: "/test" }),
  );
}

/** Takes batches as Lago documents it: whole or not at all, each `transaction_id` once, of tenants that have a subscription. */
async function startLago() {
  const taken: LagoEvent[] = [];
  const batches: number[] = [];
  const answers: { status: number; body: string }[] = [];
  const headers: (string | undefined)[] = [];
  let drops = 0;
  const refusalOf = (event: LagoEvent) => ({
    ...(taken.some(({ transaction_id: id }) => id === event.transaction_id) && {
      transaction_id: ["value_already_exist"],
    }),
    ...(event.external_subscription_id === "unknown" && { external_subscription_id: ["not_found"] }),
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { events } = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as {
      events: LagoEvent[];
    };
    headers.push(request.url, request.headers.authorization);
    const given = answers.shift();
    if (given) return response.writeHead(given.status).end(given.body);
    batches.push(events.length);
    const refused = events.flatMap((event, i) => {
      const fields = refusalOf(event);
      return Object.keys(fields).length > 0 ? [[i, fields] as const] : [];
    });
    if (refused.length > 0) {
      const error = { status: 422, code: "validation_errors", error_details: Object.fromEntries(refused) };
      return response.writeHead(422).end(JSON.stringify(error));
    }
    taken.push(...events);
    if (drops-- > 0) return response.destroy();
    return response.writeHead(200).end(JSON.stringify({ events: [] }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    taken,
    batches,
    answers,
    headers,
    /** It takes the next batch, and its answer is lost. */
    dropNext: () => (drops = 1),
    sink: createLagoSink({ url: `${url}/`, key: "k1", code: "reprise_usage" }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const { signal } = new AbortController();

test("Lago gets a batch in its form, with its key", async () => {
  await using lago = await startLago();
  const events = eventsOf(3);
  await lago.sink.deliver({ id: "b1", events }, signal);
  expect(lago.headers).toEqual(["/api/v1/events/batch", "Bearer k1"]);
  expect(lago.taken.map((event) => event.transaction_id)).toEqual(events.map(({ id }) => id));
  expect(lago.taken[0]).toMatchObject({
    external_subscription_id: "acme",
    code: "reprise_usage",
    timestamp: (Date.parse(events[0]?.time ?? "") / 1_000).toFixed(3),
  });
});

test("a batch of which Lago has a part, or all, is delivered, and no event twice", async () => {
  await using lago = await startLago();
  const events = eventsOf(5);
  lago.dropNext();
  await expect(lago.sink.deliver({ id: "b1", events: events.slice(0, 3) }, signal)).rejects.toThrow();
  await lago.sink.deliver({ id: "b1", events: events.slice(0, 3) }, signal);
  // Begun elsewhere after a restart: the batch has other events.
  await lago.sink.deliver({ id: "b2", events: events.slice(2) }, signal);
  await lago.sink.deliver({ id: "b2", events: events.slice(2) }, signal);
  expect(lago.taken.map((event) => event.transaction_id)).toEqual(events.map(({ id }) => id));
  expect(lago.batches).toEqual([3, 3, 3, 2, 3]);
});

test("an event that Lago refuses for another reason is an error that names it, its tenant and the reason", async () => {
  await using lago = await startLago();
  const [known] = eventsOf(1);
  const [unknown] = eventsOf(1, "unknown");
  if (!known || !unknown) throw new Error("Two events.");
  await lago.sink.deliver({ id: "b1", events: [known] }, signal);
  const delivery = lago.sink.deliver({ id: "b2", events: [known, unknown] }, signal);
  await expect(delivery).rejects.toThrow(
    `Lago refused the usage of ${unknown.id} (tenant unknown): external_subscription_id not_found.`,
  );
});

test.each([
  { status: 500, body: "" },
  { status: 422, body: '{"error_details":{"events":["too_many_events"]}}' },
  { status: 422, body: `{"error_details":{"0":{"a":["${"x".repeat(300_000)}"]}}}` },
])("an answer that takes nothing is an error: %j", async (answer) => {
  await using lago = await startLago();
  lago.answers.push(answer);
  const delivery = lago.sink.deliver({ id: "b1", events: eventsOf(1) }, signal);
  await expect(delivery).rejects.toThrow(`Lago answered ${answer.status}.`);
});

test("what refuses events that were not sent is no Lago, and is not asked for ever", async () => {
  await using lago = await startLago();
  lago.answers.push({
    status: 422,
    body: '{"error_details":{"7":{"transaction_id":["value_already_exist"]}}}',
  });
  const delivery = lago.sink.deliver({ id: "b1", events: eventsOf(1) }, signal);
  await expect(delivery).rejects.toThrow("Lago refused events that were not sent.");
});

test("Lago is a sink by its URL and key, which need each other", () => {
  const [url, key] = ["https://lago.example", "k1"];
  const named = (env: object) =>
    toUsageSinks({ ...(SETTINGS as object), ...env } as never).map(({ name }) => name);
  expect(named({ REPRISE_USAGE_LAGO_URL: url, REPRISE_USAGE_LAGO_KEY: key })).toEqual(["lago"]);
  expect(named({})).toEqual([]);
  for (const env of [{ REPRISE_USAGE_LAGO_URL: url }, { REPRISE_USAGE_LAGO_KEY: key }])
    expect(() => named(env)).toThrow(/need each other/);
});
