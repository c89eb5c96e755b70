import { headers, type Msg } from "@nats-io/transport-node";
import {
  CALL_ERROR_HEADER,
  AUDIT_MORE_HEADER,
  AUDIT_QUEUE,
  auditCallSubject,
  RepriseError,
  FIRST_SEQ,
} from "@reprise/protocol";
import { expect, test } from "vitest";
import { answerCalls, type CallAnswer } from "./answer-calls.ts";
import { createAuditClient } from "./audit-client.ts";
import { connectBroker } from "../nats/connection.ts";
import { newRef, openWorld, type World } from "@reprise/stream/testing";

const REF = newRef();
const EVENTS = { ...REF, from_seq: FIRST_SEQ, max_bytes: 1_000, original: false };
const PATIENT = { search: [60_000], record: [60_000], events: [60_000] };

function openClient(world: World, triesMs: Parameters<typeof createAuditClient>[1] = PATIENT) {
  return createAuditClient(world.broker.main, triesMs);
}

/** Answers calls for events the way a test wants. */
function answering(world: World, answer: () => Promise<CallAnswer>) {
  const onError = (error: unknown) => void world.errors.push(error);
  return answerCalls({
    connection: world.broker.main,
    subject: auditCallSubject("events"),
    queue: AUDIT_QUEUE,
    answer,
    onError,
  });
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => (error as RepriseError).code,
  );

test("a page has events with their cursors, and whether there are more", async () => {
  await using world = await openWorld();
  const client = openClient(world);
  const payload = '1-1 99 {"seq":1,"type":"x","text":"a b"}\n2.0a1b2c-2 99 {"seq":2,"type":"y"}\n';
  let more = true;
  await using _ = answering(world, async () => {
    return { payload, ...(more && { headers: { [AUDIT_MORE_HEADER]: "1" } }) };
  });
  const page = await client.events(EVENTS);
  expect(page.events.map(({ payload: bytes, ...event }) => [event, Buffer.from(bytes).toString()])).toEqual([
    [{ seq: 1, cursor: "1-1" }, '{"seq":1,"type":"x","text":"a b"}'],
    [{ seq: 2, cursor: "2.0a1b2c-2" }, '{"seq":2,"type":"y"}'],
  ]);
  expect(page.more).toBe(true);
  more = false;
  expect((await client.events(EVENTS)).more).toBe(false);
});

test.each([
  '1-1 99 {"seq":1,"type":"x"}',
  '1-1 {"seq":1,"type":"x"}\n',
  '1-2 99 {"seq":1,"type":"x"}\n',
  'x-1 99 {"seq":1,"type":"x"}\n',
  '1-1 99 {"type":"x"}\n',
  '1-1 99 {"seq":1,"type":"x"}\n1-3 99 {"seq":3,"type":"x"}\n',
  "\n",
])("an answer that is no page of events is an error: %j", async (payload) => {
  await using world = await openWorld();
  const client = openClient(world);
  await using _ = answering(world, async () => ({ payload }));
  expect(await codeOf(client.events(EVENTS))).toBe("protocol_violation");
});

test("the audit log's own errors arrive as they are, retryable ones with a delay", async () => {
  await using world = await openWorld();
  const client = openClient(world);
  const thrown = [
    new RepriseError("generation_erased", "Gone.", { param: "id" }),
    new RepriseError("archive_unavailable", "Later."),
  ];
  await using _ = answering(world, () => Promise.reject(thrown.shift()!));
  const errorOf = () => client.events(EVENTS).catch((error: unknown) => error);
  expect(await errorOf()).toMatchObject({ code: "generation_erased", param: "id", retryAfterMs: undefined });
  expect(await errorOf()).toMatchObject({ code: "archive_unavailable", retryAfterMs: 1_000 });
});

test.each(["no JSON", "null", "{}", '{"error":{"code":"unheard_of","message":"m"}}'])(
  "an error that is none of the catalogue's is a violation: %s",
  async (header) => {
    await using world = await openWorld();
    const client = openClient(world);
    const answer = async () => ({ payload: "", headers: { [CALL_ERROR_HEADER]: header } });
    await using _ = answering(world, answer);
    expect(await codeOf(client.events(EVENTS))).toBe("protocol_violation");
  },
);

test("what a replica leaves unanswered is asked again", async () => {
  await using world = await openWorld();
  const client = openClient(world, { ...PATIENT, events: [200, 60_000] });
  await using deaf = await connectBroker({ url: world.server.url, name: "deaf" });
  const heard: Msg[] = [];
  let answered = 0;
  const callback = (_error: Error | null, msg: Msg) => {
    heard.push(msg);
    // The first is left unanswered, whichever replica it came to.
    if (heard.length > 1) msg.respond(`1-1 9 {"seq":1,"type":"x"}\n`, { headers: headers() });
    answered++;
  };
  for (const connection of [world.broker.main, deaf.main])
    connection.subscribe("audit.events", { queue: AUDIT_QUEUE, callback });
  await deaf.main.flush();
  expect((await client.events(EVENTS)).events).toHaveLength(1);
  expect([heard.length, answered]).toEqual([2, 2]);
});

test("without a replica or in time without an answer calls fail with audit_unavailable, without a connection with broker_unavailable", async () => {
  await using world = await openWorld();
  const client = openClient(world, { ...PATIENT, search: [200] });
  expect(await codeOf(client.record(REF))).toBe("audit_unavailable");
  world.broker.main.subscribe("audit.*", { queue: AUDIT_QUEUE, callback() {} });
  await world.broker.main.flush();
  expect(await codeOf(client.search({ tenant: REF.tenant, limit: 1 }))).toBe("audit_unavailable");
  const asking = client.events(EVENTS);
  await world.broker.main.close();
  expect(await codeOf(asking)).toBe("broker_unavailable");
});
