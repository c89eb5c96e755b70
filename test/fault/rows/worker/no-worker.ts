import type { ReaderRecord } from "../../readers/reader-record.ts";
import { watchLog } from "../../trial/log-watch.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

const GENERATIONS = 8;
/** As the reaper has it: workers end their generations themselves when the total time is up. */
const REAPER_GRACE_MS = 10_000;
const STARTED = '"type":"generation.started"';
/** After the create's answer the job's own time, from which the timeout counts, lies a little back. */
const TOLERANCE_MS = 200;

export const noWorker: FaultRow = {
  name: "no-worker",
  about:
    "all workers are dead and half of the generations have no reader: queue_timeout, or a graceful end, from two reapers one; from the moment at which the timeout is up until the end is stored",
  proof: "a generation ends for its queue timeout",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    await Promise.all(world.workers.map((worker) => worker.kill()));
    await Promise.all(
      Array.from({ length: GENERATIONS }, async (_, index) => {
        const queue = {
          after_ms: random.integer(300, 3_000),
          answer: random.pick(["fail", "complete"] as const),
        };
        await waitInVain(trial, queue, index % 2 === 0);
      }),
    );
  },
};

interface QueueTimeout {
  readonly after_ms: number;
  readonly answer: "fail" | "complete";
}

async function waitInVain(trial: Trial, queue: QueueTimeout, isRead: boolean): Promise<void> {
  const ending = queue.answer === "fail" ? "generation.failed" : "generation.completed";
  const createdAt = performance.now();
  const generation = await trial.create({
    policy: { timeouts: { queue } },
    mayEnd: [ending],
    mayFinish: "timeout",
  });
  using watch = await watchLog(trial.world, generation);
  if (isRead) trial.read(generation, "raw");
  const { event, at } = await watch.next(({ type }) => type === ending);
  trial.hit();
  const lateMs = at - createdAt - queue.after_ms;
  if (lateMs < 0) trial.blame("ends", `${generation.id} ended ${-lateMs} ms too early`);
  const isRight =
    event.type === "generation.failed"
      ? event.error.code === "queue_timeout"
      : event.type === "generation.completed" && event.finish_reason === "timeout";
  if (!isRight) trial.blame("ends", `${generation.id} ended as ${JSON.stringify(event)}`);
  trial.recovered(Math.max(0, lateMs));
}

export const workersGone: FaultRow = {
  name: "workers-gone",
  about:
    "all workers are killed in mid-stream and none comes back: worker_lost by a reaper when the total time of 3 s is up and 10 s more; from then until the end is stored",
  proof: "a generation of the killed workers ends as worker_lost",
  world: {},
  shortTrials: 1,
  async run(trial) {
    const { world } = trial;
    const timeouts = { total: { after_ms: 3_000 } };
    const ending = ["generation.failed"] as const;
    const createdAt = performance.now();
    const generation = await trial.create({ policy: { timeouts }, tokens: 1_000, mayEnd: ending });
    using watch = await watchLog(world, generation);
    const { record } = trial.read(generation, "sdk");
    // Long before the time is up, which a living worker would say itself.
    const enough = trial.random.integer(3, 30);
    await record.until(({ seen }) => seen.length > enough);
    await Promise.all(world.workers.map((worker) => worker.kill()));
    const { event, at } = await watch.next(({ type }) => type === "generation.failed");
    if (event.type === "generation.failed" && event.error.code !== "worker_lost")
      trial.blame("ends", `${generation.id} ended as ${JSON.stringify(event)}`);
    else trial.hit();
    trial.recovered(at - createdAt - timeouts.total.after_ms - REAPER_GRACE_MS);
    if (at - createdAt < timeouts.total.after_ms + REAPER_GRACE_MS - TOLERANCE_MS)
      trial.blame("ends", `${generation.id} ended too early`);
  },
};

export const attemptsUsedUp: FaultRow = {
  name: "attempts-used-up",
  about:
    "all workers are killed under generations with two attempts, and those that take over too: worker_lost; from their death until the end, workers' start included",
  proof: "a generation ends as worker_lost after its second attempt",
  world: {},
  async run(trial) {
    const { world } = trial;
    const readers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const policy = { max_attempts: 2 };
        const generation = await trial.create({ policy, tokens: 1_500, mayEnd: ["generation.failed"] });
        return trial.read(generation, "raw");
      }),
    );
    let killedAt = 0;
    for (const attempt of [1, 2]) {
      const begun = (record: ReaderRecord) =>
        record.seen.filter(({ payload }) => payload.includes(STARTED)).length === attempt;
      await Promise.all(readers.map(({ record }) => record.until(begun)));
      killedAt = performance.now();
      await Promise.all(world.workers.map((worker) => worker.kill()));
      await Promise.all(world.workers.map((worker) => worker.start()));
    }
    await trial.ended();
    for (const { record } of readers) {
      const last = record.seen.at(-1)!;
      if (!last.payload.includes('"worker_lost"'))
        trial.blame("ends", `${record.generation.id} ended as ${last.payload}`);
      else trial.hit();
      trial.recovered(last.at - killedAt);
    }
  },
};
