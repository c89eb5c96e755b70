import { type GenerationRef, peekSeq, asStreamSeq, asSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Appender } from "./appender.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import { headOf } from "../read/log-head.ts";
import { denseSeqs, readBack, seqsOf, textOf } from "../testing/read-back.ts";
import {
  appendOne,
  appenderOf,
  cancelled,
  delta,
  newRef,
  openWorld,
  openWorldToRollBack,
  requested,
  type World,
  writeLog,
} from "../testing/world.ts";

/** A log of four events, then eight more that the broker has acknowledged and loses. */
async function loseEvents(world: Awaited<ReturnType<typeof openWorldToRollBack>>) {
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 3);
  await world.server.snapshotStore();
  for (let i = 1; i <= 8; i++) await appendOne(appender, delta(`lost ${i} `));
  await world.server.restoreStore();
  await eventually(async () => expect(await world.log.leader.readLast(ref)).toBeDefined());
  return { ref, appender };
}

/** An appender whose head is the log's last event as it is now. */
async function appenderBehind(world: Pick<World, "log">, ref: GenerationRef): Promise<Appender> {
  return appenderOf(world.log, ref, { head: headOf(await world.log.reader.readLog(ref)) });
}

async function surviving(world: Pick<World, "log">, ref: GenerationRef) {
  const events = await world.log.leader.readTail(ref, asStreamSeq(0));
  const last = events.at(-1)!;
  return {
    kind: "rolled_back",
    events,
    head: { seq: peekSeq(last.payload), streamSeq: last.streamSeq, payload: last.payload },
  };
}

test("a writer notices with its next append that the store has lost its events, and is told what is left", async () => {
  await using world = await openWorldToRollBack();
  const { ref, appender } = await loseEvents(world);
  await appendOne(appender, delta("next"));
  expect(appender.state).toEqual(await surviving(world, ref));
  expect(textOf(await readBack(world.log, ref))).toBe("1 2 3 ");

  const again = appenderOf(world.log, ref, { head: (await surviving(world, ref)).head });
  await appendOne(again, delta("again"));
  expect(seqsOf(await readBack(world.log, ref))).toEqual(denseSeqs(5));
});

test("a writer that has nothing to append notices when it syncs", async () => {
  await using world = await openWorldToRollBack();
  const { ref, appender } = await loseEvents(world);
  appender.sync();
  await appender.settled();
  expect(appender.state).toEqual(await surviving(world, ref));
});

test("a writer is told what others have appended since the loss, even where its own head was", async () => {
  await using world = await openWorldToRollBack();
  const { ref, appender } = await loseEvents(world);
  const other = await appenderBehind(world, ref);
  // The fourth of these has the stream sequence of the fourth lost event, and so on.
  for (let i = 1; i <= 8; i++) await appendOne(other, delta(`other ${i} `));
  expect(other.head.streamSeq).toBe(appender.head.streamSeq);
  appender.sync();
  await appender.settled();
  expect(appender.state).toEqual(await surviving(world, ref));
});

test("a live feed that begins again makes the writer read its log", async () => {
  await using world = await openWorldToRollBack();
  const { ref, appender } = await loseEvents(world);
  appender.observe(asSeq(11));
  await appender.settled();
  const other = await appenderBehind(world, ref);
  await appendOne(other, cancelled());
  appender.observe(other.head.seq);
  await appender.settled();
  expect(appender.state).toEqual(await surviving(world, ref));
});

test("a log that is lost as a whole leaves an empty one", async () => {
  await using world = await openWorldToRollBack();
  await world.server.snapshotStore();
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 3);
  await world.server.restoreStore();
  await eventually(() => world.log.leader.readLast(ref));
  await appendOne(appender, delta("next"));
  expect(appender.state).toMatchObject({ kind: "rolled_back", events: [], head: { seq: -1, streamSeq: 0 } });
});

/** A leader that answers its first calls like one that was deposed: with an older log. */
function deposed(leader: LeaderReader, staleCalls: number, lost: number): LeaderReader {
  let calls = 0;
  return {
    async readTail(ref, after, most) {
      const events = await leader.readTail(ref, after, most);
      return calls++ < staleCalls ? events.slice(0, Math.max(0, events.length - lost)) : events;
    },
    async readLast(ref) {
      return calls++ < staleCalls
        ? (await leader.readTail(ref, asStreamSeq(0))).at(-1 - lost)
        : leader.readLast(ref);
    },
  };
}

test.each([
  ["whose publish conflicts", 1],
  ["that merely syncs", 0],
])(
  "a leader that does not know that it was deposed rolls nothing back for a writer %s",
  async (_, conflicts) => {
    await using world = await openWorld();
    const ref = newRef();
    const { head } = await writeLog(world.log, ref, 5);
    let left = conflicts;
    const appender = appenderOf(world.log, ref, {
      head,
      leader: deposed(world.log.leader, 2, 2),
      publish: (...call) => (left-- > 0 ? Promise.resolve({ kind: "conflict" }) : world.log.publish(...call)),
    });
    if (conflicts === 0) appender.sync();
    appender.append(delta("6 "));
    expect(await appender.settled()).toEqual({ kind: "open" });
    expect(textOf(await readBack(world.log, ref))).toBe("1 2 3 4 5 6 ");
  },
);

test("a log of which only the end is kept is none that was rolled back", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const writer = await writeLog(world.log, ref, 5);
  const { head } = writer;
  for (const text of ["6 ", "7 "]) await appendOne(writer, delta(text));
  const { leader } = world.log;
  // As after the retention time: the head and what was before it are gone.
  const kept = async (after: number) => leader.readTail(ref, asStreamSeq(Math.max(after, head.streamSeq)));
  const appender = appenderOf(world.log, ref, {
    head,
    leader: { ...leader, readTail: (_, after) => kept(after) },
  });
  await appendOne(appender, delta("8 "));
  expect(appender.state).toEqual({ kind: "open" });
  expect(textOf(await readBack(world.log, ref))).toBe("1 2 3 4 5 6 7 8 ");
});

test("a log that has only begun is none that was rolled back", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const first = appenderOf(world.log, ref);
  await appendOne(first, requested(ref));
  const second = appenderOf(world.log, ref);
  await appendOne(second, delta("1"));
  expect([second.state, second.head.seq]).toEqual([{ kind: "open" }, 1]);
});
