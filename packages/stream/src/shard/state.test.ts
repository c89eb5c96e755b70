import { shardOf } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import { appendOne, delta, newRef, openWorld, writeLog } from "../testing/world.ts";
import { type ShardEvent, followShard } from "./follow-shard.ts";
import { readShardBacklog } from "./state.ts";

const NAME = "moderation";

test("what the followers of a name have not acknowledged is told, the same to each of them; without a follower nothing is", async () => {
  await using world = await openWorld();
  const { broker, errors } = world;
  const ref = newRef();
  const shard = shardOf(ref.generation);
  const backlog = () => readShardBacklog(broker.reads, shard, NAME);
  expect(await backlog()).toBeUndefined();
  const seen: ShardEvent[] = [];
  const onEvents = (events: readonly ShardEvent[]) => void seen.push(...events);
  const onError = (error: unknown) => void errors.push(error);
  const follower = await followShard({ broker, shard, name: NAME, onEvents, onError });
  const appender = await writeLog(world.log, ref, 3);
  await appendOne(appender, delta("x"));
  const last = () => seen.at(-1)?.streamSeq;
  await eventually(() => expect(last()).toBe(appender.head.streamSeq));
  expect(await backlog()).toBe(seen.length);
  follower.ack(seen[1]!.streamSeq);
  await eventually(async () => expect(await backlog()).toBe(seen.length - 2));
  follower.ack(appender.head.streamSeq);
  await eventually(async () => expect(await backlog()).toBe(0));
  await follower.close();
  await appendOne(appender, delta("y"));
  await eventually(async () => expect(await backlog()).toBe(1));
  expect(errors).toEqual([]);
});
