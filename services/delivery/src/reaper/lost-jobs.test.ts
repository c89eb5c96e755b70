import { createWriterName } from "@reprise/broker";
import { enqueueJob, openJobs } from "@reprise/jobs";
import { Hub } from "@reprise/stream";
import {
  createGenerationId,
  encodeEvent,
  type GenerationRef,
  logSubject,
  type Priority,
  parseTenantId,
  tightenPolicy,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createLogger } from "@reprise/runtime";
import { expect, test } from "vitest";
import { nativeSseFraming } from "../readers/streams/native-sse-framing.ts";
import {
  append,
  completed,
  createGeneration,
  delta,
  openPlatform,
  openWorker,
  type Platform,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { LostJobs } from "./lost-jobs.ts";

const SILENT_MS = 50;
const TENANT = parseTenantId("acme");

/** A log whose job the store has lost, with a worker that died with it. */
async function writeJobless(
  { log }: Platform,
  end: boolean,
  priority: Priority = "interactive",
): Promise<GenerationRef> {
  const random = Buffer.alloc(17, end ? 1 : priority);
  const ref = { tenant: TENANT, generation: createGenerationId(random, 1) };
  const payload = encodeEvent(asSeq(0), {
    type: "generation.requested",
    ...ref,
    created_at: new Date().toISOString(),
    request: { ...REQUEST, priority },
    policy: tightenPolicy({}, {}),
  });
  await log.publish(logSubject(ref), payload, { expectedLast: asStreamSeq(0), writer: createWriterName() });
  await append(await openWorker(log, ref), started(), delta("a"), ...(end ? [completed()] : []));
  return ref;
}

/** A node that serves these generations, as far as they concern `LostJobs`. */
async function follow({ broker, log }: Platform, refs: readonly GenerationRef[]) {
  const onError = (error: unknown) => {
    throw error;
  };
  const hub = new Hub({
    connection: broker.main,
    ...log,
    framing: nativeSseFraming,
    maxBytes: 1_000_000,
    onError,
  });
  for (const ref of refs) await hub.open(ref);
  const logger = createLogger({ service: "test", level: "silent" });
  const lostJobs = new LostJobs({
    broker,
    log,
    logger,
    openCaches: () => hub.openCaches,
    silentMs: SILENT_MS,
  });
  return {
    async [Symbol.asyncDispose]() {
      await lostJobs.close();
      hub.close();
    },
  };
}

const jobOf = ({ broker }: Platform, ref: GenerationRef, priority: Priority = "interactive") =>
  openJobs.readJob(broker.bulk, { ref, model: REQUEST.model, priority });

test("a generation that is read, and whose job the broker has lost, is queued again with its request", async () => {
  await using platform = await openPlatform();
  const ref = await writeJobless(platform, false);
  await using _ = await follow(platform, [ref]);
  await expect.poll(() => jobOf(platform, ref)).toBeDefined();
  const [first] = (await platform.log.reader.readLog(ref)).events;
  expect(Buffer.compare((await jobOf(platform, ref))!.payload, first!)).toBe(0);
});

test("a batch generation whose job the broker has lost is a batch job again, and one whose job has another priority is not queued twice", async () => {
  await using platform = await openPlatform();
  const [lost, other] = [await writeJobless(platform, false, "batch"), await writeJobless(platform, false)];
  const { publish } = platform.log;
  await enqueueJob(publish, {
    model: REQUEST.model,
    ref: other,
    priority: "batch",
    payload: Buffer.from("{}"),
  });
  await using _ = await follow(platform, [other, lost]);
  await expect.poll(() => jobOf(platform, lost, "batch")).toBeDefined();
  expect(await jobOf(platform, lost)).toBeUndefined();
  expect(await jobOf(platform, other)).toBeUndefined();
});

test("one that has ended has no job, and one that merely waits keeps the one it has", async () => {
  await using platform = await openPlatform();
  const ended = await writeJobless(platform, true);
  const { ref: waiting, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"));
  const before = await jobOf(platform, waiting);
  const ref = await writeJobless(platform, false);
  await using _ = await follow(platform, [ended, waiting, ref]);
  await expect.poll(() => jobOf(platform, ref)).toBeDefined();
  expect(await jobOf(platform, ended)).toBeUndefined();
  expect((await jobOf(platform, waiting))?.streamSeq).toBe(before?.streamSeq);
});
