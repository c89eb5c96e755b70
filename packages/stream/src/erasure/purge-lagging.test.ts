import { streamOf, VERDICTS_STREAM, asSeq, asStreamSeq } from "@reprise/protocol";
import { createLaggingConnection, PATIENCE_MS } from "@reprise/testkit";
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { closeGeneration, readRanges } from "./purge-generation.ts";
import { fillStream } from "./fill-stream.ts";
import { appendOne, completed, newRef, openWorld, type World, writeLog } from "../testing/world.ts";
import { storeVerdict } from "@reprise/moderation";

/** The broker as a process sees it whose replicas have heard of a stream up to a place only. */
function laggingBroker({ broker }: World, lastSeqs: Readonly<Record<string, number>>) {
  return { ...broker, reads: createLaggingConnection(broker.reads, lastSeqs) };
}

test("all ranges of a generation are known before it is purged, though replicas lag", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await appendOne(await writeLog(world.log, ref, 3), completed());
  await storeVerdict(
    world.log.publish,
    ref,
    { judged: asSeq(1), cleared: asSeq(1), decided: asSeq(0) },
    { expectedLast: asStreamSeq(0) },
  );
  const broker = laggingBroker(world, { [streamOf(ref.generation)]: 2, [VERDICTS_STREAM]: 0 });
  expect(await closeGeneration({ broker, log: world.log, ref })).toEqual({
    end: 5,
    ranges: { [streamOf(ref.generation)]: [[1, 5]], [VERDICTS_STREAM]: [[1, 1]] },
  });
});

test("finds the filler of an interrupted process though replicas lag", async () => {
  await using world = await openWorld();
  const stream = streamOf(newRef().generation);
  const filled = { stream, subjects: stream.replace("GENERATIONS_", "gen.") + ".>" };
  await fillStream(world, filled);
  const broker = laggingBroker(world, { [stream]: 0 });
  const { [stream]: places } = await fillStream({ broker, log: world.log }, filled);
  expect(places).toEqual([[1, 66]]);
  expect(await readRanges(world.broker, stream, "none.of.them")).toEqual([]);
});

test("waits for a stream without a first answer", async () => {
  await using world = await openWorld();
  const { main, reads } = world.broker;
  const ranges = readRanges(world.broker, "LATE", "late.>");
  await reads.flush();
  const manager = await jetstreamManager(main, { timeout: PATIENCE_MS });
  await manager.streams.add({ name: "LATE", subjects: ["late.>"], allow_direct: true });
  expect(await ranges).toEqual([]);
});
