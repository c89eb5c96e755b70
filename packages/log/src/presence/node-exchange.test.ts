import { type NodeId, NODE_SUBJECTS, nodeSubject, parseNodeId } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { openWorld, type World } from "../testing/world.ts";
import { NodeExchange, type NodeLoad } from "./node-exchange.ts";

function node(world: World, id: string, load: NodeLoad, name: NodeId = parseNodeId(id)) {
  const started = new NodeExchange({
    connection: world.broker.main,
    node: name,
    load: () => load,
    onError: (error) => world.errors.push(error),
  });
  return { read: () => started.read(), [Symbol.dispose]: () => started.stop() };
}

test("each node tells the readers and the CPU of all, without those that have left", async () => {
  await using world = await openWorld();
  using one = node(world, "one", { readers: 3, cpu: 0.25 });
  expect(one.read()).toEqual({ nodes: 1, readers: 3, cpu: 0.25 });
  {
    using _ = node(world, "other", { readers: 4, cpu: 0.5 });
    await eventually(() => expect(one.read()).toEqual({ nodes: 2, readers: 7, cpu: 0.75 }));
  }
  await eventually(() => expect(one.read()).toEqual({ nodes: 1, readers: 3, cpu: 0.25 }));
  expect(world.errors).toEqual([]);
});

test("a node is heard again every 3 s, and is gone when it is silent for 7 s", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["performance", "setInterval"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  using one = node(world, "one", { readers: 1, cpu: 0 });
  using _ = node(world, "other", { readers: 1, cpu: 0 });
  await eventually(() => expect(one.read().nodes).toBe(2));
  for (let i = 0; i < 4; i++) {
    const told = Promise.withResolvers<void>();
    const heard = world.broker.reads.subscribe(nodeSubject(parseNodeId("other")), {
      callback: () => told.resolve(),
    });
    await world.broker.reads.flush();
    vi.advanceTimersByTime(3_000);
    await told.promise;
    heard.unsubscribe();
    await world.broker.main.flush();
    expect(one.read().nodes).toBe(2);
  }
  world.broker.reads.publish(nodeSubject(parseNodeId("silent")), '{"readers":5,"cpu":1}');
  await eventually(() => expect(one.read()).toMatchObject({ nodes: 3, readers: 7 }));
  vi.advanceTimersByTime(7_001);
  await eventually(() => expect(one.read().nodes).toBeLessThan(3));
  realTimers[Symbol.dispose]();
});

test.each([
  "null",
  "7",
  '{"readers":1}',
  '{"readers":-1,"cpu":0}',
  '{"readers":1e400,"cpu":0}',
  '{"readers":"1","cpu":0}',
  "\u0000",
])("the malformed announcement %j counts for no node", async (text) => {
  await using world = await openWorld();
  using one = node(world, "one", { readers: 1, cpu: 0 });
  const heard = Promise.withResolvers<void>();
  world.broker.main.subscribe(NODE_SUBJECTS, {
    callback: (_, { subject }) => {
      if (subject.endsWith("bad")) heard.resolve();
    },
  });
  await world.broker.main.flush();
  world.broker.reads.publish(nodeSubject(parseNodeId("bad")), text);
  await heard.promise;
  expect(one.read()).toEqual({ nodes: 1, readers: 1, cpu: 0 });
  expect(world.errors).toEqual([]);
});
