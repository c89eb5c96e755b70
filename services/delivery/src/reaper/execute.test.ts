import { type QueuedJob, openJobs } from "@reprise/jobs";
import { DEFAULT_POLICY, type GenerationRef, asStreamSeq, plusMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import {
  append,
  createGeneration,
  delta,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";
import { execute } from "./execute.ts";
import { type Observation, type ReapReason, type WatchedJob, watchJob } from "./plan.ts";

const LEASE_MS = 6_000;
const { total } = DEFAULT_POLICY.timeouts;
const LOST_MS = total.after_ms + 10_000;

async function watchedOf({ broker }: Platform, ref: GenerationRef): Promise<WatchedJob & { job: QueuedJob }> {
  const job = await openJobs.readJob(broker.bulk, { ref, model: "sim", priority: "interactive" });
  return { ...watchJob(job!, DEFAULT_POLICY, job!.queuedAtMs), job: job! };
}

/** Ends what was seen like this so long after it was queued. */
function endAt(
  { log, broker }: Platform,
  watched: WatchedJob,
  afterMs: number,
  phase: Observation["phase"] = "begun",
) {
  const reasons: ReapReason[] = [];
  const onEnded = (reason: ReapReason) => void reasons.push(reason);
  const looked = { atMs: plusMs(watched.queuedAtMs, afterMs), phase };
  const options = { log, broker, leaseMs: LEASE_MS, onEnded };
  return execute({ kind: "end" }, watched, looked, options).then((then) => ({ phase: then.phase, reasons }));
}

async function lastOf({ log }: Platform, ref: GenerationRef): Promise<unknown> {
  const last = await log.reader.readLast(ref);
  return JSON.parse(Buffer.from(last!.payload).toString());
}

test("a generation whose workers are all dead fails 10 s after its total time, with what was counted", async () => {
  await using platform = await openPlatform();
  const { ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"), delta("b"));
  const watched = await watchedOf(platform, ref);
  expect(await endAt(platform, watched, LOST_MS - 1)).toEqual({ phase: "begun", reasons: [] });
  expect(await endAt(platform, watched, LOST_MS)).toEqual({ phase: "ended", reasons: ["worker_lost"] });
  expect(await lastOf(platform, ref)).toMatchObject({
    type: "generation.failed",
    error: { code: "worker_lost", retryable: true },
    usage: { output_tokens: 2 },
  });
});

test("a generation that was handed over and waits for a slot ends 10 s after its total time, as the policy says, and never by its time in the queue", async () => {
  await using platform = await openPlatform();
  const { ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"), { type: "attempt.ended", attempt: 1, reason: "handover" });
  const watched = await watchedOf(platform, ref);
  expect(await endAt(platform, watched, LOST_MS - 1)).toEqual({ phase: "handed_over", reasons: [] });
  expect(await endAt(platform, watched, LOST_MS)).toEqual({ phase: "ended", reasons: ["total_timeout"] });
  expect(await lastOf(platform, ref)).toMatchObject({
    type: "generation.failed",
    error: { code: "total_timeout" },
    usage: { output_tokens: 1 },
  });
});

test("what was seen too early counts for nothing: a worker that has begun meanwhile keeps its generation", async () => {
  await using platform = await openPlatform();
  const { ref, worker } = await createGeneration(platform);
  const watched = await watchedOf(platform, ref);
  await append(worker, started());
  const late = await endAt(platform, watched, DEFAULT_POLICY.timeouts.queue.after_ms, "queued");
  expect(late).toEqual({ phase: "begun", reasons: [] });
  expect(await lastOf(platform, ref)).toMatchObject({ type: "generation.started" });
});

test("of many that end a generation at once, one does", async () => {
  await using platform = await openPlatform();
  const { ref } = await createGeneration(platform);
  const watched = await watchedOf(platform, ref);
  const afterMs = DEFAULT_POLICY.timeouts.queue.after_ms;
  const ends = await Promise.all(
    Array.from({ length: 10 }, () => endAt(platform, watched, afterMs, "queued")),
  );
  expect(ends.flatMap(({ reasons }) => reasons)).toEqual(["queue_timeout"]);
  expect(ends.every(({ phase }) => phase === "ended")).toBe(true);
});

test("only the job that was met is deleted, not one that was queued again, and a log is begun only from one that is there", async () => {
  await using platform = await openPlatform();
  const { ref } = await createGeneration(platform);
  const watched = await watchedOf(platform, ref);
  const options = { log: platform.log, broker: platform.broker, leaseMs: LEASE_MS, onEnded: () => {} };
  const other = { ...watched, job: { ...watched.job, streamSeq: asStreamSeq(watched.job.streamSeq + 1) } };
  const looked: Observation = { atMs: watched.queuedAtMs, phase: "absent" };
  expect(await execute({ kind: "delete" }, other, looked, options)).toMatchObject({ phase: "gone" });
  expect(await openJobs.readJob(platform.broker.main, watched.job)).toBeDefined();
  expect(await execute({ kind: "restore" }, other, looked, options)).toMatchObject({ phase: "gone" });
  expect(await execute({ kind: "delete" }, watched, looked, options)).toMatchObject({ phase: "gone" });
  expect(await openJobs.readJob(platform.broker.main, watched.job)).toBeUndefined();
});
