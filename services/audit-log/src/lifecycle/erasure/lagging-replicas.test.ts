import { enqueueJob } from "@reprise/jobs";
import { encodeEvent, type GenerationRef, JOBS_STREAM, streamOf, asSeq } from "@reprise/protocol";
import { completed, createLaggingConnection, createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { eraseSubject, type ErasureRequest } from "./erase.ts";
import { setHold } from "../hold.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";

const { tenant } = createRef();
const who = { tenant, by: "operator", reason: "a test" };
const ann = { subject: "ann" };

/** A process that asks replicas which have heard of nothing yet. */
async function openLagging(world: LifecycleWorld): Promise<LifecycleContext> {
  const { live } = world;
  const lastSeqs = { [streamOf(createRef().generation)]: 0, [JOBS_STREAM]: 0 };
  const broker = { ...live.broker, reads: createLaggingConnection(live.broker.reads, lastSeqs) };
  return { ...(await world.openContext()), live: { ...live, broker } };
}

async function erase(world: LifecycleWorld, what: Pick<ErasureRequest, "subject" | "generation">) {
  return eraseSubject(await openLagging(world), { ...who, ...what }, { settleMs: SETTLE_MS });
}

/** A generation of which the queue alone knows. */
async function enqueue({ live }: LifecycleWorld, ref: GenerationRef): Promise<void> {
  const payload = encodeEvent(asSeq(0), requested(ref, ann));
  await enqueueJob(live.log.publish, { model: "sim", ref, payload });
}

test("a subject's erasure takes in what was stored a moment before it, though replicas lag", async () => {
  await using world = await openLifecycleWorld();
  const [written, other, queued] = [createRef(), createRef(), createRef()];
  await writeLog(world.live.log, written, ann, [delta("secret"), completed()]);
  await writeLog(world.live.log, other, { subject: "bob" }, [delta("public"), completed()]);
  await enqueue(world, queued);
  const generations = [written, queued].map(({ generation }) => generation).toSorted();
  expect(await erase(world, ann)).toMatchObject({ kind: "erased", certificate: { generations } });
});

test("a legal hold of a subject keeps a generation that was stored a moment before, though replicas lag", async () => {
  await using world = await openLifecycleWorld();
  const [written, queued] = [createRef(), createRef()];
  await writeLog(world.live.log, written, ann, [delta("secret"), completed()]);
  await enqueue(world, queued);
  await setHold(await openLagging(world), { ...who, ...ann });
  for (const { generation } of [written, queued])
    await expect(erase(world, { generation })).rejects.toMatchObject({ code: "erasure_refused" });
});

test("one generation that was stored a moment before is there to be erased, though replicas lag", async () => {
  await using world = await openLifecycleWorld();
  const { generation, ...ref } = createRef();
  await writeLog(world.live.log, { generation, ...ref }, {}, [delta("secret"), completed()]);
  expect(await erase(world, { generation })).toMatchObject({
    kind: "erased",
    certificate: { generations: [generation] },
  });
});
