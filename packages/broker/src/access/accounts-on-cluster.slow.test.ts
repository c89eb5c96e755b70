import {
  type GenerationRef,
  generationsStream,
  liveSubject,
  logSubject,
  peekSeq,
  STREAM_START,
  streamOf,
} from "@reprise/protocol";
import { eventually, startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Broker, connectBroker, flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { createGenerationLog, followShard } from "@reprise/stream";
import { LOGINS, TOPOLOGY, denseSeqs, newRef, SHARDS, writeLog } from "@reprise/stream/testing";
import { ensureTopology } from "../topology/topology.ts";
import { matches } from "../testing/subject-matches.ts";
import { accountsOf } from "./accounts.ts";
import { type BrokerUser, SERVICE_USERS, type ServiceUser } from "./broker-user.ts";
import { MODERATION_CONSUMER, permissionsOf } from "./permissions.ts";

const SHARD = 0;
const DELTAS = 50;
/** Where an erasure that runs as `admin` hears a worker's answer, in the account of both: the audit log's account has another such inbox. */
const OF_ADMIN = "_INBOX_audit-log.x.y";
/** See `accounts.ts`. */
const MAY_COME_TWICE = ["ops.x.erased.x", "rules.x.y", "yield.x.x.x"];
/** Each service knows one server only, two of them each a different one. */
const NODE_OF: Readonly<Record<ServiceUser, number>> = {
  delivery: 0,
  "inference-worker": 1,
  moderation: 2,
  "audit-log": 0,
  analytics: 1,
};

/** A cluster with the platform's accounts, and no streams yet. */
async function openCluster() {
  await using stack = new AsyncDisposableStack();
  // The test's own connections, and those by which the cluster is asked for its leaders.
  const extraConfig = { accounts: accountsOf(LOGINS, { shards: SHARDS }), no_auth_user: "admin" };
  const cluster = stack.use(await startTestCluster({ extraConfig }));
  const connections: Broker[] = [];
  stack.defer(async () => void (await Promise.all(connections.map((each) => each.close()))));
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const connectAs = async (user: BrokerUser, node: number): Promise<Broker> => {
    const { url } = cluster.nodes[node]!;
    const broker = await connectBroker({ url, access: LOGINS[user], user, name: user, onError });
    connections.push(broker);
    return broker;
  };
  const admin = await connectAs("admin", 0);
  const kept = stack.move();
  return {
    ...cluster,
    admin,
    errors,
    connectAs,
    createStreams: () => ensureTopology(admin.main, { ...TOPOLOGY, replicas: 3 }),
    connectService: (user: ServiceUser) => connectAs(user, NODE_OF[user]),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type Cluster = Awaited<ReturnType<typeof openCluster>>;

const heardBy = (user: ServiceUser) => permissionsOf(user, { shards: SHARDS }).subscribe.allow;
const subjectsOf = (user: ServiceUser) =>
  permissionsOf(user, { shards: SHARDS }).publish.allow.map((pattern) =>
    pattern.replaceAll("*", "x").replace(">", "x.y"),
  );

/** Two processes of each service, at different servers, that listen wherever they may. */
async function listenEverywhere({ connectAs, nodes }: Cluster) {
  const heard: string[] = [];
  const processes = [];
  for (const user of SERVICE_USERS)
    for (const node of [NODE_OF[user], (NODE_OF[user] + 1) % nodes.length]) {
      const name = `${user} at ${node}`;
      const { main } = await connectAs(user, node);
      for (const pattern of heardBy(user))
        main.subscribe(pattern, {
          callback: (_, msg) => void heard.push(`${msg.string()} ${msg.subject} ${name}`),
        });
      processes.push({ user, name, main, isPublisher: node === NODE_OF[user] });
    }
  return { processes, heard };
}

function refIn(stream: string): GenerationRef {
  for (;;) {
    const ref = newRef();
    if (streamOf(ref.generation) === stream) return ref;
  }
}

test("services at different servers of a cluster append, hear, follow and read across accounts, whichever server leads", async () => {
  await using cluster = await openCluster();
  const { admin, connectService, errors } = cluster;
  await cluster.createStreams();
  const [delivery, worker] = [await connectService("delivery"), await connectService("inference-worker")];
  const [moderation, archiver] = [await connectService("moderation"), await connectService("audit-log")];
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
      const { leader } = createGenerationLog(reader);
      const read = await eventually(() => leader.readTail(ref, STREAM_START));
      expect(read.map(({ payload }) => peekSeq(payload))).toEqual(seqs);
    }
  }
  await follower.close();
  expect(errors).toEqual([]);
});

test("what a service publishes is heard once by each process that may listen there, at whichever server and in whichever account", async () => {
  await using cluster = await openCluster();
  const { processes, heard } = await listenEverywhere(cluster);
  const publish = (round: string) => {
    for (const { user, main, isPublisher } of processes)
      if (isPublisher) for (const subject of subjectsOf(user)) main.publish(subject, round);
  };
  const expected = (round: string) =>
    processes.flatMap(({ user, name }) =>
      SERVICE_USERS.flatMap(subjectsOf)
        .filter((subject) => subject !== OF_ADMIN)
        .flatMap((subject) =>
          heardBy(user)
            .filter((pattern) => matches(pattern, subject))
            .map(() => `${round} ${subject} ${name}`),
        ),
    );
  expect(expected("").length).toBeGreaterThan(30);
  // Servers learn from each other what is subscribed to.
  await eventually(() => {
    publish("first");
    expect(new Set(heard).isSupersetOf(new Set(expected("first")))).toBe(true);
  });
  // Of what came twice, the second has come before the next round has.
  for (const round of ["counted", "last"]) {
    publish(round);
    await eventually(() => expect(new Set(heard).isSupersetOf(new Set(expected(round)))).toBe(true));
  }
  const isCountedOnce = (what: string) =>
    what.startsWith("counted ") && !MAY_COME_TWICE.some((subject) => what.includes(` ${subject} `));
  expect(heard.filter(isCountedOnce).toSorted()).toEqual(
    expected("counted").filter(isCountedOnce).toSorted(),
  );
});

test("a service in an account of its own is told at once that a stream has no quorum", async () => {
  await using cluster = await openCluster();
  await cluster.createStreams();
  const publish = createPublish(inboxOf((await cluster.connectService("delivery")).main));
  const append = () => publish(logSubject(refIn(generationsStream(SHARD))), new Uint8Array(), {});
  await eventually(async () => expect(await append()).toMatchObject({ kind: "stored" }));
  const others = cluster.nodes.filter((_, node) => node !== NODE_OF.delivery);
  await Promise.all(others.map((node) => node.kill("SIGKILL")));
  // A leader takes some seconds to notice that it is alone, and answers nothing until then.
  await eventually(async () =>
    expect(await append()).toMatchObject({ kind: "unavailable", reason: "no_responders" }),
  );
});
