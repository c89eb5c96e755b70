import type { NatsConnection } from "@nats-io/transport-node";
import {
  checkpointSubject,
  encodeEvent,
  parseGenerationId,
  peekSeq,
  RepriseError,
  asStreamSeq,
  asSeq,
  type GenerationRef,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { createCheckpointer } from "../append/checkpoint.ts";
import { HEADER, inboxOf } from "@reprise/broker";
import { headOf } from "./log-head.ts";
import type { LeaderReader } from "./leader-reader.ts";
import type { LogSnapshot, StoredEvent } from "./stored-event.ts";
import { createLogReader } from "./log-reader.ts";
import {
  encodeCheckpoint,
  appendOne,
  appenderOf,
  delta,
  newRef,
  openWorld,
  openWorldToRollBack,
  requested,
  type World,
  writeLog,
} from "../testing/world.ts";
import { denseSeqs } from "../testing/read-back.ts";

const EMPTY: LogSnapshot = { events: [], streamSeq: asStreamSeq(0) };

function textsOf(payloads: readonly Uint8Array[]): string[] {
  return payloads.map((payload) => Buffer.from(payload).toString());
}

/** Publishes a checkpoint message as it is. */
async function putCheckpoint(
  world: Pick<World, "log">,
  ref: GenerationRef,
  message: Uint8Array,
  streamSeq: string,
): Promise<void> {
  const outcome = await world.log.publish(checkpointSubject(ref), message, {
    extra: { [HEADER.checkpointStreamSeq]: streamSeq },
  });
  expect(outcome.kind).toBe("stored");
}

/** A checkpoint of the events up to `seq`. */
async function checkpointUpTo(
  world: Pick<World, "log">,
  ref: GenerationRef,
  seq: number,
  known?: readonly StoredEvent[],
): Promise<void> {
  const stored = (known ?? (await world.log.leader.readTail(ref, asStreamSeq(0)))).slice(0, seq + 1);
  const payloads = stored.map(({ payload }) => payload);
  await putCheckpoint(world, ref, encodeCheckpoint(payloads), `${stored.at(-1)!.streamSeq}`);
}

describe("reading a whole log", () => {
  test("checkpoint and tail together are the log, at every length", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const { publish, reader } = world.log;
    const checkpointer = createCheckpointer({ publish, ref, snapshot: EMPTY, maxBytes: 1_000_000, now: 0 });
    const expected: string[] = [];
    const appender = appenderOf(world.log, ref, {
      onStored({ payload, streamSeq }) {
        expected.push(Buffer.from(payload).toString());
        checkpointer.add(payload, streamSeq, 0);
      },
    });
    expect(await reader.readLog(ref)).toEqual(EMPTY);
    await appendOne(appender, requested(ref));
    for (let length = 1; length <= 200; length++) {
      const { events, streamSeq } = await reader.readLog(ref);
      expect(textsOf(events)).toEqual(expected);
      expect(streamSeq).toBe(appender.head.streamSeq);
      await appendOne(appender, delta(`${length} `));
    }
  });

  test.each([0, 1, 20, 49, 50])(
    "a checkpoint that ends at event %i of 50 is completed by the tail",
    async (seq) => {
      await using world = await openWorld();
      const ref = newRef();
      const { head } = await writeLog(world.log, ref, 50);
      await checkpointUpTo(world, ref, seq);
      const { events, streamSeq } = await world.log.reader.readLog(ref);
      expect(events.map(peekSeq)).toEqual(denseSeqs(51));
      expect(streamSeq).toBe(head.streamSeq);
    },
  );

  test("a checkpoint that a fenced worker writes late takes nothing away", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 50);
    await checkpointUpTo(world, ref, 50);
    await checkpointUpTo(world, ref, 10);
    expect((await world.log.reader.readLog(ref)).events.map(peekSeq)).toEqual(denseSeqs(51));
  });

  test.each([
    ["that is empty", ""],
    ["that is cut off", '{"seq":0,"type":"generation.requested"}\n{"seq":1,"ty'],
    ["that holds something else", "\n\n\n"],
    ["whose events have a hole", '{"seq":0,"type":"x"}\n{"seq":2,"type":"x"}\n'],
  ])("a checkpoint %s is ignored: the log itself is read", async (_, message) => {
    await using world = await openWorld();
    const ref = newRef();
    const { head } = await writeLog(world.log, ref, 20);
    await putCheckpoint(world, ref, Buffer.from(message), `${head.streamSeq}`);
    expect((await world.log.reader.readLog(ref)).events.map(peekSeq)).toEqual(denseSeqs(21));
  });

  test.each(["", "x", "0", "-1"])(
    "a checkpoint with the stream sequence %j is ignored: the log itself is read",
    async (header) => {
      await using world = await openWorld();
      const ref = newRef();
      await writeLog(world.log, ref, 5);
      await putCheckpoint(world, ref, Buffer.from('{"seq":0,"type":"x"}\n'), header);
      expect((await world.log.reader.readLog(ref)).events.map(peekSeq)).toEqual(denseSeqs(6));
    },
  );

  test("a checkpoint that does not join the tail after it is ignored: the log itself is read", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const { head } = await writeLog(world.log, ref, 20);
    const first = encodeEvent(asSeq(0), requested(ref));
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    // As events that expire before a checkpoint that was written late would leave it: it claims to end where event 9 lies, but holds event 0 only.
    await putCheckpoint(world, ref, encodeCheckpoint([first]), `${stored[9]!.streamSeq}`);
    const { events, streamSeq } = await world.log.reader.readLog(ref);
    expect(events.map(peekSeq)).toEqual(denseSeqs(21));
    expect(streamSeq).toBe(head.streamSeq);
  });

  test("a checkpoint that knows of events that the store has lost brings none of them back, and hides no new ones", async () => {
    await using world = await openWorldToRollBack();
    const ref = newRef();
    const writer = await writeLog(world.log, ref, 10);
    await world.server.snapshotStore();
    for (let i = 0; i < 10; i++) await appendOne(writer, delta("lost "));
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    await world.server.restoreStore();
    await eventually(() => checkpointUpTo(world, ref, 20, stored));
    const { reader } = world.log;
    const left = await eventually(() => reader.readLog(ref));
    expect(left.events.map(peekSeq)).toEqual(denseSeqs(11));

    const other = appenderOf(world.log, ref, { head: headOf(left) });
    for (let i = 1; i <= 15; i++) {
      await appendOne(other, delta("new "));
      const texts = textsOf((await reader.readLog(ref)).events);
      expect([texts.length, texts.filter((text) => text.includes("lost"))]).toEqual([11 + i, []]);
    }
  });

  test("a replica that lags behind a checkpoint takes nothing from it", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 5);
    // The replica, here the only server, does not have the checkpoint's last event yet; the leader does.
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    const unseen = {
      payload: encodeEvent(asSeq(6), delta("6 ")),
      streamSeq: asStreamSeq(stored.at(-1)!.streamSeq + 1),
      writer: "w",
    };
    await checkpointUpTo(world, ref, 6, [...stored, unseen]);
    const readWith = async (readTail: LeaderReader["readTail"]) => {
      return createLogReader(world.broker.reads, { ...world.log.leader, readTail }).readLog(ref);
    };
    const away = new RepriseError("broker_unavailable", "No leader.");
    const logs = [await readWith(async () => [unseen]), await readWith(() => Promise.reject(away))];
    expect(logs.map(({ events }) => events.length)).toEqual([7, 6]);
  });
});

describe("reading a log in parts", () => {
  test("a tail of more than one batch comes whole and in order, from any place", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 300);
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    for (const after of [0, 1, 63, 64, 65, 200, 299, 300]) {
      const from = stored[after]!.streamSeq;
      const tail = await world.log.reader.readTail(ref, from);
      expect(tail.map(({ payload }) => peekSeq(payload))).toEqual(denseSeqs(301).slice(after + 1));
    }
  });

  test("a batch is small and has a flag for more", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 99);
    const first = await world.log.reader.readBatch(ref, asStreamSeq(0));
    const second = await world.log.reader.readBatch(ref, first.events.at(-1)!.streamSeq);
    expect([first.events.length, first.more, second.events.length, second.more]).toEqual([
      64,
      true,
      36,
      false,
    ]);
  });

  test("events larger than a batch are read one after the other", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const appender = await writeLog(world.log, ref, 1);
    // A text of that length would be several events.
    for (let i = 0; i < 5; i++)
      await appendOne(appender, { type: "tool.result", call_id: `c${i}`, output: "x".repeat(600_000) });
    expect(
      (await world.log.reader.readTail(ref, asStreamSeq(0))).map(({ payload }) => peekSeq(payload)),
    ).toEqual(denseSeqs(7));
  });

  test("logs that are written at once, by several tenants, never mix", async () => {
    await using world = await openWorld();
    const refs = ["acme", "rival", "acme", "rival", "other"].map((tenant) => newRef(tenant));
    const same = { ...newRef("thief"), generation: refs[0]!.generation };
    await Promise.all(
      [...refs, same].map(async (ref, number) => {
        const appender = appenderOf(world.log, ref);
        await appendOne(appender, requested(ref));
        for (let i = 0; i < 100; i++) await appendOne(appender, delta(`${number} `));
      }),
    );
    for (const [number, ref] of [...refs, same].entries()) {
      const { events } = await world.log.reader.readLog(ref);
      expect(events.map(peekSeq)).toEqual(denseSeqs(101));
      expect(textsOf(events.slice(1)).filter((text) => !text.includes(`"${number} "`))).toEqual([]);
      expect(textsOf(events.slice(0, 1))[0]).toContain(`"tenant":"${ref.tenant}"`);
    }
  });

  test("the last event is read alone, and there is none in a log that does not exist", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const { head } = await writeLog(world.log, ref, 30);
    const last = await world.log.reader.readLast(ref);
    expect([peekSeq(last!.payload), last!.streamSeq]).toEqual([30, head.streamSeq]);
    expect(await world.log.reader.readLast(newRef())).toBeUndefined();
    expect(await world.log.reader.readTail(newRef(), asStreamSeq(0))).toEqual([]);
  });

  test("the leader and a replica tell the same", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 70);
    const comparable = (events: Awaited<ReturnType<typeof world.log.reader.readTail>>) =>
      events.map(({ payload, streamSeq, writer }) => [Buffer.from(payload).toString(), streamSeq, writer]);
    expect(comparable(await world.log.reader.readTail(ref, asStreamSeq(0)))).toEqual(
      comparable(await world.log.leader.readTail(ref, asStreamSeq(0))),
    );
  });
});

describe("a generation whose stream does not exist", () => {
  test("has an empty log", async () => {
    await using world = await openWorld();
    const ref = { ...newRef(), generation: parseGenerationId(`gen_999_${"0".repeat(26)}`) };
    expect(await world.log.reader.readLog(ref)).toEqual({ events: [], streamSeq: 0 });
    expect(await world.log.reader.readTail(ref, asStreamSeq(0))).toEqual([]);
    expect(await world.log.reader.readLast(ref)).toBeUndefined();
    expect(await world.log.leader.readTail(ref, asStreamSeq(0))).toEqual([]);
  });
});

/** Makes the next API requests over a connection time out at once, as if a server hung: as many as `hangs` says. */
function hangRequests(connection: NatsConnection): { hangs: number } {
  const inbox = inboxOf(connection);
  const state = { hangs: 0 };
  const request = inbox.request.bind(inbox);
  inbox.request = (subject, payload, options) => {
    if (state.hangs-- > 0) options.handler("timeout");
    else request(subject, payload, options);
  };
  return state;
}

describe("reading from a cluster of which one server hangs", () => {
  test("asks again, which may reach another one, and gives up after the third time", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 3);
    const { reader } = world.log;
    const server = hangRequests(world.broker.reads);
    for (const read of [() => reader.readLast(ref), () => reader.readTail(ref, asStreamSeq(0))]) {
      server.hangs = 2;
      expect(await read()).toBeDefined();
      server.hangs = 3;
      await expect(read()).rejects.toMatchObject({ code: "broker_unavailable" });
    }
  });
});

describe("reading without a broker", () => {
  test("fails as unavailable, at once, and works again when the broker is back", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 3);
    await world.server.stop();
    for (const read of [
      () => world.log.reader.readLog(ref),
      () => world.log.reader.readLast(ref),
      () => world.log.leader.readTail(ref, asStreamSeq(0)),
    ]) {
      await expect(read()).rejects.toMatchObject({ code: "broker_unavailable", retryable: true });
    }
    const back = Promise.withResolvers<void>();
    void (async () => {
      for await (const { type } of world.broker.reads.status()) if (type === "reconnect") back.resolve();
    })();
    await world.server.restart();
    await back.promise;
    expect((await world.log.reader.readLog(ref)).events).toHaveLength(4);
  });
});

test("many reads of large checkpoints at once leave the connection open, and the first event needs none of them", async () => {
  await using world = await openWorld();
  const { reader, publish } = world.log;
  const ref = newRef();
  await appendOne(appenderOf(world.log, ref), requested(ref));
  // Read all at once they are more than the broker lets wait for a connection.
  const large = new Uint8Array(1_024 * 1_024).fill(0x20);
  await putCheckpoint({ log: { ...world.log, publish } }, ref, large, "1");
  let disconnects = 0;
  void (async () => {
    for await (const { type } of world.broker.reads.status()) if (type === "disconnect") disconnects++;
  })();
  const all = await Promise.all([
    ...Array.from({ length: 90 }, () => reader.readLog(ref).then(({ events }) => events.length)),
    ...Array.from({ length: 90 }, () => reader.readFirst(ref).then((first) => (first ? 1 : 0))),
  ]);
  expect([new Set(all), disconnects]).toEqual([new Set([1]), 0]);
});
