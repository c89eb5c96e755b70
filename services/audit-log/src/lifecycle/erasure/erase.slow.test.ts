import {
  checkpointSubject,
  CHECKPOINTS_STREAM,
  decodeOpsRecord,
  encodeEvent,
  OPS_STREAM,
  type GenerationRef,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { readStreamMessages } from "@reprise/broker";
import { enqueueJob } from "@reprise/jobs";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  archivedUpTo,
  findingsIn,
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { filesWith, readableTexts, streamsWith } from "../../testing/search-stores.ts";
import { eraseSubject, type ErasureRequest } from "./erase.ts";

const SECRET = "the-secret-of-user-7";
const PUBLIC = "nobody-objects-to-this";
const SUBJECT = { subject: "user-7" };
const request: ErasureRequest = {
  tenant: createRef().tenant,
  ...SUBJECT,
  by: "operator",
  reason: "asked for by the person",
};
const options = { settleMs: SETTLE_MS };

/** Appends until another process ends the log, like a worker whose engine keeps streaming. */
async function stream(world: LifecycleWorld, ref: GenerationRef): Promise<string> {
  const writer = await writeLog(world.live.log, ref, { ...SUBJECT, input: SECRET }, [started()]);
  for (;;) {
    writer.append(delta(`${SECRET} `));
    const state = await writer.settled();
    if (state.kind !== "open") return state.kind;
  }
}

test("a subject is erased while it streams and is archived: no store holds its text, and nothing else is lost", async () => {
  await using world = await openLifecycleWorld();
  const { log } = world.live;
  const [ended, running, queued, other] = [createRef(), createRef(), createRef(), createRef()];
  await using archiver = await world.startArchiver();
  await writeLog(log, ended, { ...SUBJECT, input: SECRET }, [started(), delta(SECRET), completed()]);
  await writeLog(log, other, { subject: "user-8", input: PUBLIC }, [started(), delta(PUBLIC)]);
  const streaming = stream(world, running);
  const payload = encodeEvent(asSeq(0), requested(queued, { ...SUBJECT, input: SECRET }));
  await enqueueJob(log.publish, { model: "sim", ref: queued, payload });
  await archivedUpTo(world, SECRET);

  const outcome = await eraseSubject(await world.openContext(), request, options);
  expect(await streaming).toBe("fenced");
  await writeLog(log, createRef(), { subject: "user-9", input: "the last one" }, [completed()]);
  await archivedUpTo(world, "the last one");
  await archiver.stop();

  const generations = [ended, running, queued].map(({ generation }) => generation).toSorted();
  expect(outcome).toMatchObject({ kind: "erased", certificate: { generations, by: "operator" } });
  const { keyring } = await world.openContext();
  const texts = await readableTexts(world.store, keyring);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
  expect(texts.filter((text) => text.includes(PUBLIC))).toHaveLength(2);
  expect(await streamsWith(world.live.broker, SECRET)).toEqual([]);
  expect(await filesWith(world.dir, SECRET)).toEqual([]);
  await expect.poll(() => filesWith(world.server.storeDir, SECRET)).toEqual([]);
  expect(await findingsIn(world)).toEqual([]);
  for (const ref of [ended, running, queued])
    await expect(log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
  expect((await log.reader.readLog(other)).events).toHaveLength(3);
  expect(world.errors).toEqual([]);
});

test("text in a file of checkpoints that was full before, and is mostly of others, is gone with the certificate", async () => {
  await using world = await openLifecycleWorld();
  const { log } = world.live;
  const ref = createRef();
  const store = async (of: GenerationRef, text: string, bytes: number) => {
    const payload = Buffer.alloc(bytes, `${text} `);
    const outcome = await log.publishCheckpoint(checkpointSubject(of), payload, {});
    expect(outcome.kind).toBe("stored");
  };
  const storeOthers = async (count: number) => {
    for (let i = 0; i < count; i++) await store(createRef(), PUBLIC, 512 * 1_024);
  };
  await writeLog(log, ref, { ...SUBJECT, input: SECRET }, [completed()]);
  await storeOthers(6);
  // Once more and once for the last time: the broker keeps the second, and the bytes of both.
  for (let i = 0; i < 2; i++) await store(ref, SECRET, 1_024);
  await storeOthers(14);
  const inCheckpoints = async () =>
    (await filesWith(world.server.storeDir, SECRET)).filter((path) => path.includes(CHECKPOINTS_STREAM));
  expect(await inCheckpoints()).toHaveLength(1);

  await using archiver = await world.startArchiver();
  await archivedUpTo(world, SECRET);
  expect(await eraseSubject(await world.openContext(), request, options)).toMatchObject({ kind: "erased" });
  expect(await inCheckpoints()).toEqual([]);
  await archiver.stop();
  expect(await findingsIn(world)).toEqual([]);
});

test("delivery nodes are told of every erased generation", async () => {
  await using world = await openLifecycleWorld();
  const ref = createRef();
  await writeLog(world.live.log, ref, SUBJECT, [completed()]);
  const outcome = await eraseSubject(await world.openContext(), request, options);
  const batch = { afterStreamSeq: asStreamSeq(0), maxMessages: 10, maxBytes: 100_000 };
  const records = await readStreamMessages(world.live.broker.reads, OPS_STREAM, batch);
  expect(records.map(({ subject, payload }) => [subject, decodeOpsRecord(payload)])).toEqual([
    [
      `ops.acme.erased.${ref.generation}`,
      expect.objectContaining({ erasure: outcome.kind === "erased" && outcome.certificate.id }),
    ],
  ]);
});

test("what is erased already is certified again, and what never was is nothing", async () => {
  await using world = await openLifecycleWorld();
  const ref = createRef();
  await writeLog(world.live.log, ref, SUBJECT, [completed()]);
  const context = await world.openContext();
  const first = await eraseSubject(context, request, options);
  expect(await eraseSubject(context, request, options)).toEqual(first);
  const single = { ...request, subject: undefined };
  expect(await eraseSubject(context, { ...single, generation: ref.generation }, options)).toEqual(first);
  const never = { ...single, generation: createRef().generation };
  expect(await eraseSubject(context, never, options)).toEqual({ kind: "nothing" });
});
