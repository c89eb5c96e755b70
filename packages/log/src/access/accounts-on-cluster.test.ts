import {
  type GenerationRef,
  generationsStream,
  liveSubject,
  logSubject,
  peekSeq,
  STREAM_START,
  streamOf,
} from "@reprise/protocol";
import { startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker, flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { createGenerationLog } from "../read/generation-log.ts";
import { followShard } from "../shard/follow-shard.ts";
import { eventually } from "../testing/eventually.ts";
import { LOGINS, TOPOLOGY } from "../testing/start-with-users.ts";
import { denseSeqs } from "../testing/read-back.ts";
import { newRef, SHARDS, writeLog } from "../testing/world.ts";
import { ensureTopology } from "../topology/topology.ts";
import { accountsOf } from "./accounts.ts";
import type { ServiceUser } from "./broker-user.ts";
import { MODERATION_CONSUMER } from "./permissions.ts";

const SHARD = 0;
const DELTAS = 50;
/** Each service knows one server only, two of them each a different one. */
const NODE_OF: Readonly<Record<ServiceUser, number>> = {
  delivery: 0,
  "inference-worker": 1,
  moderation: 2,
  "audit-log": 0,
};

async function openCluster() {
  await using stack = new AsyncDisposableStack();
  // The test's own connections, and those by which the cluster is asked for its leaders.
  const extraConfig = { accounts: accountsOf(LOGINS, { shards: SHARDS }), no_auth_user: "admin" };
  const cluster = stack.use(await startTestCluster({ extraConfig }));
  const admin = stack.use(await connectBroker({ url: cluster.url, user: "admin", name: "admin" }));
  await ensureTopology(admin.main, { ...TOPOLOGY, replicas: 3 });
  const errors: unknown[] = [];
  const connectAs = async (user: ServiceUser) => {
    const { url } = cluster.nodes[NODE_OF[user]]!;
    const onError = (error: unknown) => errors.push(error);
    return stack.use(await connectBroker({ url, access: LOGINS[user], user, name: user, onError }));
  };
  const services = {
    delivery: await connectAs("delivery"),
    worker: await connectAs("inference-worker"),
    moderation: await connectAs("moderation"),
    archiver: await connectAs("audit-log"),
  };
  const kept = stack.move();
  return { cluster, admin, services, errors, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function refIn(stream: string): GenerationRef {
  for (;;) {
    const ref = newRef();
    if (streamOf(ref.generation) === stream) return ref;
  }
}

test("services at different servers of a cluster append, hear, follow and read across accounts, whichever server leads", async () => {
  await using world = await openCluster();
  const { cluster, admin, services, errors } = world;
  const { delivery, worker, moderation, archiver } = services;
  const stream = generationsStream(SHARD);
  const followed: number[] = [];
  const follower = await followShard({
    broker: moderation,
    shard: SHARD,
    name: MODERATION_CONSUMER,
    onEvents: (events) => followed.push(...events.map(({ payload }) => peekSeq(payload))),
    onError: (error) => errors.push(error),
  });
  const seqs = denseSeqs(DELTAS + 1);
  for (const { name } of cluster.nodes) {
    await eventually(async () => {
      const request = JSON.stringify({ placement: { preferred: name } });
      await admin.main.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, request);
      expect((await cluster.leaderOf(stream))?.name).toBe(name);
    });
    await cluster.healthy();
    const ref = refIn(stream);
    const heard: number[] = [];
    delivery.main.subscribe(liveSubject(ref), { callback: (_, { data }) => void heard.push(peekSeq(data)) });
    await flushConnection(delivery.main);
    followed.length = 0;
    await writeLog(createGenerationLog(worker), ref, DELTAS);
    await eventually(() => expect(heard).toEqual(seqs));
    await eventually(() => expect(followed).toEqual(seqs));
    for (const reader of [delivery, moderation, archiver]) {
      const read = await createGenerationLog(reader).leader.readTail(ref, STREAM_START);
      expect(read.map(({ payload }) => peekSeq(payload))).toEqual(seqs);
    }
  }
  await follower.close();
  expect(errors).toEqual([]);
});

test("a service in an account of its own is told at once that a stream has no quorum", async () => {
  await using world = await openCluster();
  const { cluster, services } = world;
  const publish = createPublish(inboxOf(services.delivery.main));
  const append = () => publish(logSubject(refIn(generationsStream(SHARD))), new Uint8Array(), {});
  await eventually(async () => expect(await append()).toMatchObject({ kind: "stored" }));
  const others = cluster.nodes.filter((_, node) => node !== NODE_OF.delivery);
  await Promise.all(others.map((node) => node.kill("SIGKILL")));
  // A leader takes some seconds to notice that it is alone, and answers nothing until then.
  await eventually(async () =>
    expect(await append()).toMatchObject({ kind: "unavailable", reason: "no_responders" }),
  );
});
