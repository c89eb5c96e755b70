import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readStreamInfo } from "@reprise/broker";
import { encodeEvent, logSubject, asSeq } from "@reprise/protocol";
import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type LaneWorld, openLaneWorld, STREAM } from "../../testing/worlds/lane-world.ts";
import { readWholeArchive } from "../../testing/read-archive.ts";

const PILED_UP = 60_000;
const TEXT = "x".repeat(500);
const MIB = 1_024 * 1_024;
/** Two batches are in memory at a time, in some forms each. What has piled up takes 30 MiB as it lies there. */
const BATCH = { maxMessages: 20_000, maxAgeMs: 500, maxBytes: MIB };
const MAX_GROWTH = 25 * MIB;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Has the broker store events faster than one answer at a time would allow, but not so fast that it drops some. */
async function pileUp(world: LaneWorld): Promise<void> {
  const { broker } = world;
  const ref = createRef();
  for (let seq = 0; seq < PILED_UP; seq++) {
    const payload = encodeEvent(asSeq(seq), seq === 0 ? requested(ref) : delta(TEXT));
    if (seq % 1_000 === 0) await world.publish(logSubject(ref), payload);
    else broker.main.publish(logSubject(ref), payload);
  }
  const stored = async () => (await readStreamInfo(broker.reads, STREAM)).lastStreamSeq;
  await expect.poll(stored).toBe(PILED_UP);
}

test("what has piled up is archived while more comes, and only some batches of it are in memory", async () => {
  await using world = await openLaneWorld();
  await pileUp(world);
  const atStart = usedBytes();
  let most = 0;
  await using lane = await world.startArchiver({
    limits: BATCH,
    onCommitted: () => (most = Math.max(most, usedBytes() - atStart)),
  });
  let isCaughtUp = false;
  const caughtUp = lane.until(({ last }) => last >= PILED_UP).then(() => (isCaughtUp = true));
  let live = 0;
  for (const ref = createRef(); !isCaughtUp; live++)
    await world.write(ref, live, [live === 0 ? requested(ref) : delta("live")]);
  await caughtUp;
  const all = PILED_UP + live;
  expect(await lane.until(({ last }) => last >= all)).toMatchObject({ last: all, gaps: [], skipped: [] });

  expect(live).toBeGreaterThan(0);
  expect(most).toBeLessThan(MAX_GROWTH);
  const found = await readWholeArchive(lane.archive, await world.openKeyring());
  expect(new Set(found.map(({ streamSeq }) => streamSeq)).size).toBe(all);
  expect(found).toHaveLength(all);
});
