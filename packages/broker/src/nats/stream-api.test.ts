import { CHECKPOINTS_STREAM, checkpointSubject, asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { newRef, openWorld } from "@reprise/stream/testing";
import { getBatchDirect, getLastDirect, streamSeqOf } from "./direct-get.ts";
import { isRefusal } from "./jetstream-errors.ts";
import { HEADER } from "./header.ts";
import {
  deleteMessage,
  getLastMessage,
  getMessage,
  getNextMessage,
  getStreamInfo,
  headerOf,
  purgeSubject,
} from "./stream-api.ts";
import { watchConnection } from "./watch-connection.ts";

const BATCH = { afterStreamSeq: asStreamSeq(0), maxMessages: 10, maxBytes: 1_000_000 };

test("reads a message with its header by place, by subject and from the place before it", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const subject = checkpointSubject(newRef());
  const extra = { [HEADER.checkpointStreamSeq]: "7" };
  await world.log.publish(subject, Buffer.from("text"), { extra });
  const found = await getLastMessage(main, CHECKPOINTS_STREAM, subject);
  expect(found).toMatchObject({ subject, streamSeq: 1, payload: Buffer.from("text") });
  expect(headerOf(found!, HEADER.checkpointStreamSeq)).toBe("7");
  expect(headerOf(found!, HEADER.erased)).toBeUndefined();
  expect(await getMessage(main, CHECKPOINTS_STREAM, asStreamSeq(1))).toEqual(found);
  expect(await getNextMessage(main, CHECKPOINTS_STREAM, { afterStreamSeq: asStreamSeq(0), subject })).toEqual(
    found,
  );
});

test("a message that is not there is undefined for every read, and deleting or purging it succeeds", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const subject = checkpointSubject(newRef());
  expect(await getLastMessage(main, CHECKPOINTS_STREAM, subject)).toBeUndefined();
  expect(await getMessage(main, CHECKPOINTS_STREAM, asStreamSeq(1))).toBeUndefined();
  expect(
    await getNextMessage(main, CHECKPOINTS_STREAM, { afterStreamSeq: asStreamSeq(0), subject }),
  ).toBeUndefined();
  expect(await getLastDirect(main, CHECKPOINTS_STREAM, subject)).toBeUndefined();
  expect(await getBatchDirect(main, CHECKPOINTS_STREAM, { ...BATCH, subject })).toEqual({
    messages: [],
    more: false,
  });
  await purgeSubject(main, CHECKPOINTS_STREAM, subject);
  await deleteMessage(main, CHECKPOINTS_STREAM, asStreamSeq(1));
});

test("a stream that does not exist is a refusal by its name, and has no responders for direct gets", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const calls = [
    getStreamInfo(main, "NONE"),
    getLastMessage(main, "NONE", "a"),
    purgeSubject(main, "NONE", "a"),
    deleteMessage(main, "NONE", asStreamSeq(1)),
  ];
  for (const call of calls) {
    const error: unknown = await call.catch((refused: unknown) => refused);
    expect(error).toMatchObject({ code: "broker_unavailable", message: expect.stringContaining("NONE") });
    expect(isRefusal(error, "streamNotFound")).toBe(true);
    expect(isRefusal(error, "consumerNotFound")).toBe(false);
  }
  await expect(getLastDirect(main, "NONE", "a")).rejects.toMatchObject({ cause: "no_responders" });
});

test("a batch continues after a stored message without content, and says whether there is more", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const refs = [newRef(), newRef(), newRef()];
  for (const [i, ref] of refs.entries())
    await world.log.publish(checkpointSubject(ref), Buffer.from(i === 1 ? "" : "text"), {});
  const read = (maxMessages: number) =>
    getBatchDirect(main, CHECKPOINTS_STREAM, { ...BATCH, subject: ">", maxMessages });
  const whole = await read(10);
  expect([whole.messages.map(streamSeqOf), whole.more]).toEqual([[1, 2, 3], false]);
  const part = await read(2);
  expect([part.messages.map(streamSeqOf), part.more]).toEqual([[1, 2], true]);
});

test("requests fail at once while the connection is down", async () => {
  await using world = await openWorld();
  const { main } = world.broker;
  const down = Promise.withResolvers<void>();
  watchConnection(main, { onDown: down.resolve });
  await world.server.stop();
  await down.promise;
  const failure = { code: "broker_unavailable", cause: "disconnected" };
  const batch = { ...BATCH, subject: ">" };
  await expect(getStreamInfo(main, CHECKPOINTS_STREAM)).rejects.toMatchObject(failure);
  await expect(getBatchDirect(main, CHECKPOINTS_STREAM, batch)).rejects.toMatchObject(failure);
});
