import { status } from "@grpc/grpc-js";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  append,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { Outbox } from "./outbox.ts";
import { openGrpc } from "./rpc.fixture.ts";

async function openSession(options: Parameters<typeof openPlatform>[0] = {}) {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform({ grpcPort: 0, ...options }));
  const grpc = stack.use(openGrpc(`127.0.0.1:${platform.node.delivery.grpcPort}`));
  const session = grpc.session();
  const owned = stack.move();
  /** Resolves with the first message of a kind under an id. */
  const said = (id: number, kind: string) =>
    eventually(async () => {
      const found = session.messages.find((one) => one.id === id && one.message.case === kind);
      if (!found) throw new Error(`no ${kind} of ${id} in ${session.messages.length} messages`);
      return found.message.value as never;
    });
  const eventsOf = (id: number) =>
    session.messages.flatMap(({ id: of, message }) =>
      of === id && message.case === "event" && message.value.eventJson !== "" ? [message.value] : [],
    );
  return { ...platform, ...session, said, eventsOf, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("a session creates, follows and resumes beside other calls, and ends after its last stream", async () => {
  await using session = await openSession();
  const requestJson = JSON.stringify(REQUEST);
  session.send({ id: 1, call: { case: "create", value: { requestJson } } });
  const { id: generation } = JSON.parse(await session.said(1, "answerJson")) as { id: string };
  const { ref, worker } = await createGeneration(session);
  session.send({ id: 2, call: { case: "follow", value: { generation: ref.generation } } });
  await append(worker, started(), delta("a"));
  await eventually(async () => expect(session.eventsOf(2)).toHaveLength(2));
  const after = session.eventsOf(2)[0]!.cursor;
  session.send({ id: 3, call: { case: "follow", value: { generation: ref.generation, after } } });
  session.send({ id: 4, call: { case: "cancel", value: { generation, reason: "enough" } } });
  expect(JSON.parse(await session.said(4, "answerJson"))).toMatchObject({ status: "cancelled" });
  session.call.end();
  await append(worker, completed());
  expect(await session.ended).toBeUndefined();
  expect(session.eventsOf(2).map(({ seq }) => seq)).toEqual([1n, 2n, 3n]);
  expect(session.eventsOf(3)).toEqual(session.eventsOf(2).slice(1));
  await session.said(2, "end");
});

test("a session stores text and sound in the order of its messages, and tells what is wrong with a call", async () => {
  await using session = await openSession();
  const create = async (id: number, format: string) => {
    const requestJson = JSON.stringify({ model: "sim", input: { stream: { format } } });
    session.send({ id, call: { case: "create", value: { requestJson } } });
    return (JSON.parse(await session.said(id, "answerJson")) as { id: string }).id;
  };
  const input = (id: number, value: object) =>
    session.send({ id, call: { case: "input", value: value as never } });
  const text = await create(1, "text");
  for (let first = 1; first <= 20; first++) {
    const value = JSON.stringify([{ type: "input.delta", text: `${first}` }]);
    input(100 + first, { generation: text, first: BigInt(first), entries: { case: "entriesJson", value } });
  }
  expect(JSON.parse(await session.said(120, "answerJson"))).toMatchObject({ stored: 20 });
  const sound = await create(2, "audio/pcm;rate=16000;channels=1");
  const audio = { case: "audio", value: new Uint8Array(640) };
  input(3, { generation: sound, first: 1n, entries: audio });
  expect(JSON.parse(await session.said(3, "answerJson"))).toMatchObject({ stored: 1 });
  input(4, { generation: sound, first: 9n, entries: audio });
  expect(await session.said(4, "problem")).toMatchObject({ code: "input_gap" });
  session.send({ id: 5, call: { case: "follow", value: { generation: "gen_0_none" } } });
  expect(await session.said(5, "problem")).toMatchObject({ code: "generation_not_found" });
});

test("a session leaves one stream, and is ended when the node drains", async () => {
  await using session = await openSession();
  const [left, kept] = [await createGeneration(session), await createGeneration(session)];
  session.send({ id: 1, call: { case: "follow", value: { generation: left.ref.generation } } });
  session.send({ id: 2, call: { case: "follow", value: { generation: kept.ref.generation } } });
  await append(left.worker, started());
  await append(kept.worker, started());
  await eventually(async () =>
    expect([session.eventsOf(1), session.eventsOf(2)].map((one) => one.length)).toEqual([1, 1]),
  );
  session.send({ id: 1, call: { case: "leave", value: {} } });
  session.send({ id: 3, call: { case: "cancel", value: { generation: left.ref.generation } } });
  await session.said(3, "answerJson");
  session.node.delivery.drain();
  expect(await session.said(2, "problem")).toMatchObject({ code: "draining", retryable: true });
  expect(await session.ended).toMatchObject({ code: status.UNAVAILABLE });
  expect(session.eventsOf(1)).toHaveLength(1);
});

test("streams that a client leaves without reading say no more, and keep nothing", async () => {
  await using session = await openSession();
  const { ref, worker } = await createGeneration(session);
  await append(worker, started(), delta("x".repeat(14_000)));
  session.call.pause();
  const follow = { case: "follow", value: { generation: ref.generation } } as const;
  for (let n = 0; n < 200; n++) {
    session.send({ id: 1, call: follow });
    session.send({ id: 1, call: { case: "leave", value: {} } });
  }
  session.send({ id: 2, call: follow });
  session.call.resume();
  await eventually(async () => expect(session.eventsOf(2)).toHaveLength(2));
  const ofFirst = session.messages.filter(({ id }) => id === 1);
  expect(ofFirst.filter(({ message }) => message.case === "end")).toHaveLength(200);
  expect(ofFirst.at(-1)!.message.case).toBe("end");
});

test("the streams of a session end when its client leaves", async () => {
  await using session = await openSession();
  const { ref, worker } = await createGeneration(session);
  session.send({ id: 1, call: { case: "follow", value: { generation: ref.generation } } });
  session.send({ id: 2, call: { case: "follow", value: { generation: ref.generation } } });
  const metrics = async () => (await call(`${session.node.opsUrl}/metrics`)).text;
  await expect.poll(metrics).toContain("\nreprise_readers 2\n");
  session.call.cancel();
  expect(await session.ended).toMatchObject({ code: status.CANCELLED });
  await expect.poll(metrics).toContain("\nreprise_readers 0\n");
  await append(worker, started(), completed());
});

test("a session outlasts the time that a request may take to arrive", async () => {
  await using session = await openSession({ arrivalMs: 400, heartbeatMs: 100 });
  const { ref, worker } = await createGeneration(session);
  session.send({ id: 1, call: { case: "follow", value: { generation: ref.generation } } });
  // Each is a heartbeat.
  await eventually(async () => expect(session.messages.length).toBeGreaterThan(10));
  session.send({ id: 2, call: { case: "follow", value: { generation: ref.generation } } });
  await append(worker, started(), completed());
  session.call.end();
  expect(await session.ended).toBeUndefined();
  expect(session.eventsOf(2)).toHaveLength(2);
});

test.each([[{ id: 0, call: { case: "leave", value: {} } }], [{ id: 1 }]] as const)(
  "a session is ended by the message %j",
  async (message) => {
    await using session = await openSession();
    session.send(message);
    expect(await session.ended).toMatchObject({ code: status.INVALID_ARGUMENT });
  },
);

test("an outbox holds each writer up until its message is taken, and none after its reader is gone", async () => {
  const outbox = new Outbox<string>();
  const put: string[] = [];
  const writing = (async () => {
    for (const message of ["a", "b", "c"]) {
      await outbox.put(message);
      put.push(message);
    }
  })();
  const taken = outbox.take(60_000, () => "idle");
  expect((await taken.next()).value).toBe("a");
  expect(put).toEqual([]);
  expect((await taken.next()).value).toBe("b");
  expect(put).toEqual(["a"]);
  outbox.abandon();
  await writing;
  expect(put).toEqual(["a", "b", "c"]);
  expect((await taken.next()).done).toBe(true);
  const idle = new Outbox<string>();
  expect((await idle.take(1, () => "idle").next()).value).toBe("idle");
});
