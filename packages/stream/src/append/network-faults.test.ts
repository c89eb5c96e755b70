import { type GenerationRef, peekSeq, asStreamSeq } from "@reprise/protocol";
import { eventually, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker } from "@reprise/broker";
import { createGenerationLog } from "../read/generation-log.ts";
import { Hub } from "../hub/hub.ts";
import { follow, framesOf } from "../testing/follow.ts";
import { plainFraming } from "../testing/plain-framing.ts";
import { denseSeqs, readBack, seqsOf, textOf } from "../testing/read-back.ts";
import {
  appendOne,
  appenderOf,
  completed,
  delta,
  newRef,
  openWorldBehindProxy,
  requested,
  started,
  type World,
} from "../testing/world.ts";

/** A log that is read and written past the proxy. */
async function openDirectLog({ server, errors }: World) {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(
    await connectBroker({ url: server.url, name: "direct", onError: (error) => errors.push(error) }),
  );
  const log = createGenerationLog(broker);
  const owned = stack.move();
  return { log, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function expectedFrames(world: World, ref: GenerationRef): Promise<string> {
  return framesOf((await world.log.leader.readTail(ref, asStreamSeq(0))).map(({ payload }) => payload));
}

test("an acknowledgement that the network loses doubles nothing", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await openDirectLog(world);
  const ref = newRef();
  const appender = appenderOf(world.log, ref);
  await appendOne(appender, requested(ref));
  world.proxy.setFaults({ toClient: { dropped: true } });
  appender.append(delta("a"));
  await eventually(async () => expect(await direct.log.reader.readTail(ref, asStreamSeq(0))).toHaveLength(2));
  expect(appender.head.seq).toBe(0);
  world.proxy.setFaults({});
  world.proxy.cutNow();
  appender.append(delta("b"));
  expect(await appender.settled()).toEqual({ kind: "open" });
  const events = await readBack(direct.log, ref);
  expect(seqsOf(events)).toEqual(denseSeqs(3));
  expect(textOf(events)).toBe("ab");
});

test("a network that is mute and comes back delays appends and nothing else", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await openDirectLog(world);
  const ref = newRef();
  let timeouts = 0;
  const timedOut = Promise.withResolvers<void>();
  const appender = appenderOf(world.log, ref, {
    publish: async (subject, payload, options) => {
      const outcome = await world.log.publish(subject, payload, { ...options, timeoutMs: 200 });
      if (outcome.kind === "unavailable" && ++timeouts === 2) timedOut.resolve();
      return outcome;
    },
    // The leader is asked past the proxy: with both ways stalled, every attempt would take its 2 s.
    leader: direct.log.leader,
  });
  await appendOne(appender, requested(ref));
  world.proxy.setFaults({ toServer: { stalled: true } });
  appender.append(delta("a"));
  await timedOut.promise;
  world.proxy.setFaults({});
  // What was given up arrives now, together with its retries: compare-and-set stores one of them.
  await appendOne(appender, delta("b"));
  expect(appender.state).toEqual({ kind: "open" });
  expect(textOf(await readBack(direct.log, ref))).toBe("ab");
});

test("connections that are cut at any moment lose nothing, double nothing, and readers see every event once", async () => {
  await withSeed(20_261_121, async (random) => {
    await using world = await openWorldBehindProxy();
    const hub = new Hub({
      connection: world.broker.main,
      reader: world.log.reader,
      leader: world.log.leader,
      verdicts: world.log.verdicts,
      framing: plainFraming,
      probeMs: 100,
      onError: (error) => world.errors.push(error),
    });
    const runs = await Promise.all(
      Array.from({ length: 8 }, async (_, number) => {
        const ref = newRef();
        const told: number[] = [];
        const appender = appenderOf(world.log, ref, {
          onStored: ({ payload }) => told.push(peekSeq(payload)),
        });
        await appendOne(appender, requested(ref));
        await appendOne(appender, started());
        return { ref, number, appender, told, reading: follow(await hub.open(ref)) };
      }),
    );
    await Promise.all(
      runs.map(async ({ appender, number }) => {
        for (let i = 0; i < 60; i++) {
          await appendOne(appender, delta(`${i} `));
          if (number === 0 && random.chance(0.1)) random.pick([...world.proxy.connections, undefined])?.cut();
          if (number === 1 && random.chance(0.05)) world.proxy.cutNow();
        }
        await appendOne(appender, completed());
      }),
    );
    for (const { ref, appender, told, reading } of runs) {
      expect(appender.state).toEqual({ kind: "open" });
      // The last cut may be to the connection that logs are read over.
      expect(await reading).toBe(await eventually(() => expectedFrames(world, ref)));
      const events = await readBack(world.log, ref);
      expect(textOf(events)).toBe(
        denseSeqs(60)
          .map((i) => `${i} `)
          .join(""),
      );
      expect(told).toEqual(seqsOf(events));
    }
    hub.close();
  });
});

test("a live feed that is cut off is repaired from the log as soon as the connection is back", async () => {
  await using world = await openWorldBehindProxy();
  await using direct = await openDirectLog(world);
  const hub = new Hub({
    connection: world.broker.main,
    reader: world.log.reader,
    leader: world.log.leader,
    verdicts: world.log.verdicts,
    framing: plainFraming,
    probeMs: 600_000,
    onError: (error) => world.errors.push(error),
  });
  const ref = newRef();
  const appender = appenderOf(direct.log, ref);
  await appendOne(appender, requested(ref));
  await appendOne(appender, started());
  const reading = follow(await hub.open(ref));
  world.proxy.setFaults({ toClient: { dropped: true } });
  await appendOne(appender, delta("unseen"));
  await appendOne(appender, completed());
  world.proxy.setFaults({});
  world.proxy.cutNow();
  expect(await reading).toBe(await expectedFrames(world, ref));
  hub.close();
});
