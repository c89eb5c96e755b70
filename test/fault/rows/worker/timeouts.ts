import { setTimeout as delay } from "node:timers/promises";
import { decodeEvent, type KnownEvent, type TimeoutAnswer } from "@reprise/protocol";
import { watchLog } from "../../trial/log-watch.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

const EACH = 4;
const SILENCE_MS = 500;
const TOTAL_MS = 2_000;
const LONGEST_BEFORE_KILL_MS = 1_500;
/** One worker dies at most, and the rest are tries. */
const MAX_ATTEMPTS = 3;
/** The time that a clock in another process may make of a moment. */
const TOLERANCE_MS = 50;
const SILENCES = new Set(["first_token_timeout", "between_tokens_timeout"]);
/** Of an engine's fallback, which on a busy machine may be late too. */
const MANY_ATTEMPTS = 8;
/** From the create to the first token that an engine has to say at once, on a busy machine. */
const FIRST_TOKEN_MS = 2_000;

export const timeouts: FaultRow = {
  name: "timeouts",
  about:
    "engines fall silent, refuse, or take too long, half of the time while a worker is killed: each generation ends as its policy says, or continues with the fallback; from the moment at which a timeout is up until the end is stored, of those that kept their worker",
  proof: "a generation ends for a timeout, or continues with the fallback of an engine that was asked",
  world: { upstream: true },
  async run(trial) {
    const plays = [fallsSilent, takesTooLong, hasFallback].flatMap((play) =>
      Array.from({ length: EACH }, () => play(trial)),
    );
    await Promise.all([...plays, trial.random.chance(0.5) && killWorker(trial)]);
  },
};

async function killWorker({ random, world }: Trial): Promise<void> {
  await delay(random.integer(0, LONGEST_BEFORE_KILL_MS));
  const victim = random.pick(world.workers);
  await victim.kill();
  await victim.start();
}

/** The simulator says nothing more from some token on, in every attempt. */
async function fallsSilent(trial: Trial): Promise<void> {
  const { random } = trial;
  const answer = random.pick(["retry", "fail", "complete"] as const);
  const limit = { after_ms: SILENCE_MS, answer };
  const createdAt = performance.now();
  const generation = await trial.create({
    simulator: { stall_after_tokens: random.integer(0, 60) },
    policy: { max_attempts: MAX_ATTEMPTS, timeouts: { first_token: limit, between_tokens: limit } },
    mayEnd: [answer === "complete" ? "generation.completed" : "generation.failed"],
    mayFinish: "timeout",
  });
  trial.read(generation, random.pick(["raw", "sdk"]));
  await judgeEnd(trial, generation, {
    answer,
    codes: answer === "retry" ? new Set([...SILENCES, "worker_lost"]) : SILENCES,
    notBefore: createdAt + SILENCE_MS,
    dueAt: answer === "retry" ? undefined : (last) => last + SILENCE_MS,
  });
}

/** The engine speaks all the time, and would for 10 s. */
async function takesTooLong(trial: Trial): Promise<void> {
  const { random } = trial;
  const answer = random.pick(["fail", "complete"] as const);
  const createdAt = performance.now();
  const generation = await trial.create({
    tokens: 1_000,
    model: random.pick(["sim", "upstream"]),
    policy: { max_attempts: MAX_ATTEMPTS, timeouts: { total: { after_ms: TOTAL_MS, answer } } },
    mayEnd: [answer === "complete" ? "generation.completed" : "generation.failed"],
    mayFinish: "timeout",
  });
  trial.read(generation, random.pick(["raw", "sdk"]));
  const codes = new Set(["total_timeout"]);
  const notBefore = createdAt + TOTAL_MS;
  await judgeEnd(trial, generation, { answer, codes, notBefore, dueAt: () => notBefore });
}

/** The first engine refuses, or says nothing; what the second one says is whole. */
async function hasFallback(trial: Trial): Promise<void> {
  const { random, world } = trial;
  const first_token = { after_ms: FIRST_TOKEN_MS };
  const generation = await trial.create({
    model: "upstream",
    policy: { max_attempts: MANY_ATTEMPTS, timeouts: { first_token } },
    prepare: ({ seed }) => world.upstream.treat(seed!, random.pick(["stalls", "refuses"])),
  });
  await trial.read(generation, random.pick(["raw", "sdk"])).record.done;
  if (world.upstream.requestsOf(generation.request.seed!).length > 0) trial.hit();
}

interface Expected {
  readonly answer: TimeoutAnswer;
  /** Those that an end by failure may have. */
  readonly codes: ReadonlySet<string>;
  /** It may not end before, however late this suite receives what came meanwhile. */
  readonly notBefore: number;
  /** When the end is due, given when the last event before it was stored; undefined where that is not to be told. */
  readonly dueAt: ((lastAt: number) => number) | undefined;
}

async function judgeEnd(
  trial: Trial,
  generation: Parameters<typeof watchLog>[1],
  { answer, codes, notBefore, dueAt }: Expected,
): Promise<void> {
  using watch = await watchLog(trial.world, generation);
  const end = await watch.next(({ type }) => type === "generation.failed" || type === "generation.completed");
  const { event } = end;
  const isRight =
    (event.type === "generation.failed" && answer !== "complete" && codes.has(event.error.code)) ||
    (event.type === "generation.completed" && answer === "complete" && event.finish_reason === "timeout");
  if (!isRight) trial.blame("ends", `${generation.id} ended as ${JSON.stringify(event)}, policy: ${answer}`);
  else trial.hit();
  const earlyMs = notBefore - end.at;
  if (earlyMs > TOLERANCE_MS) trial.blame("ends", `${generation.id} ended ${earlyMs} ms too early`);
  const log = (await trial.world.readLog(generation.ref)).map(
    (payload) => decodeEvent(payload) as KnownEvent,
  );
  const attempts = log.filter(({ type }) => type === "generation.started").length;
  const last = watch.told.at(-2);
  if (attempts !== 1 || !last || !dueAt) return;
  trial.recovered(Math.max(0, end.at - dueAt(last.at)));
}
