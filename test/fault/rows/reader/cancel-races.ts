import { setTimeout as delay } from "node:timers/promises";
import { type Generation, isTerminal } from "@reprise/protocol";
import { untilAnswered } from "@reprise/testkit";
import { endOf } from "../../trial/acked.ts";
import { callNode, type NodeAnswer } from "../../trial/call.ts";
import { type LogWatch, watchLog } from "../../trial/log-watch.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { GenerationOptions, Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

/** When the first cancel comes, counted from the create's answer, in milliseconds. The run takes 300 ms to its first token, and 600 more. */
interface Moment {
  readonly shortestMs: number;
  readonly longestMs: number;
}

const FIRST_TOKEN_MS = 300;
const TOKENS = 120;
const MOMENTS: readonly Moment[] = [
  // Before a worker has it, or while one takes it.
  { shortestMs: 0, longestMs: 15 },
  { shortestMs: 50, longestMs: FIRST_TOKEN_MS },
  { shortestMs: 350, longestMs: 800 },
  // About when it completes.
  { shortestMs: 860, longestMs: 960 },
];
const EACH = 3;
const MOST_CALLERS = 5;
/** How far apart the callers of one generation may be. */
const SPREAD_MS = 20;
/** Ends the wait for an engine's connection that is not closed; what is promised is a tenth of a second. */
const CLOSED_LIMIT_MS = 120_000;

/** A request that was on its way when the cancel was stored has arrived by then. */
const SETTLED_MS = 300;
const CANCELLED = '"type":"generation.cancelled"';
const TOOL_CALL = '"type":"tool.call"';

const CANCELLABLE: GenerationOptions = {
  tokens: TOKENS,
  tokensPerSecond: 200,
  mayEnd: ["generation.cancelled", "generation.completed"],
};
/** Asks for a tool in mid-stream, which is not answered. */
const ASKING: GenerationOptions = {
  ...CANCELLABLE,
  simulator: { tool_call_after_tokens: 20 },
  mayEnd: ["generation.cancelled"],
};

export const cancelRaces: FaultRow = {
  name: "cancel-races",
  about:
    "cancels at random moments, up to five at once at two nodes: before a worker has it, before the first token, in mid-stream, at the completion, while tools are awaited; from the cancel's append until the engine's request is closed",
  proof: "a generation ends by a cancel",
  together: 2,
  world: { upstream: true },
  async run(trial) {
    const racing = Array.from({ length: EACH }, () => MOMENTS.map((moment) => race(trial, moment)));
    await Promise.all([...racing.flat(), ...Array.from({ length: EACH }, () => raceTool(trial))]);
    await trial.ended();
    for (const generation of trial.generations)
      if (endOf(trial.world, generation)?.payload.includes(CANCELLED)) trial.hit();
  },
};

async function race(trial: Trial, { shortestMs, longestMs }: Moment): Promise<void> {
  const { random } = trial;
  const generation = await trial.create({
    ...CANCELLABLE,
    model: "upstream",
    simulator: { first_token_ms: FIRST_TOKEN_MS },
  });
  using watch = await watchLog(trial.world, generation);
  trial.read(generation, random.chance(0.5) ? "raw" : "sdk");
  await delay(random.integer(shortestMs, longestMs));
  await cancelAtOnce(trial, generation);
  await reportClosing(trial, generation, watch);
}

async function raceTool(trial: Trial): Promise<void> {
  const generation = await trial.create(ASKING);
  using watch = await watchLog(trial.world, generation);
  const { record } = trial.read(generation, "raw");
  await record.until(({ seen }) => seen.some(({ payload }) => payload.includes(TOOL_CALL)));
  await cancelAtOnce(trial, generation);
  await watch.next(({ type }) => isTerminal(type));
}

/** Several callers, at any nodes. Each must be told how the generation has ended, by the answer of one winner. */
async function cancelAtOnce(trial: Trial, generation: TestedGeneration): Promise<void> {
  const { random, world } = trial;
  const callers = Array.from({ length: random.integer(1, MOST_CALLERS) }, async (_, caller) => {
    await delay(random.integer(0, SPREAD_MS));
    const path = `/${generation.id}/cancel`;
    const node = random.integer(0, world.deliveries.length - 1);
    return callNode(world, { node, tenant: generation.tenant, path, body: { reason: `caller ${caller}` } });
  });
  const answers = await Promise.all(callers);
  const last = await untilAnswered(() => world.log.leader.readLast(generation.ref));
  const end = last && (JSON.parse(Buffer.from(last.payload).toString()) as { seq: number; type: string });
  for (const answer of answers) judgeAnswer(trial, generation, answer, end);
}

function judgeAnswer(
  trial: Trial,
  { id }: TestedGeneration,
  answer: NodeAnswer | undefined,
  end: { seq: number; type: string } | undefined,
): void {
  if (answer?.status !== 200) {
    trial.blame("refused", `a cancel of ${id} was answered ${answer?.status}: ${answer?.body}`);
    return;
  }
  const { status, cursor } = JSON.parse(answer.body) as Generation;
  if (`generation.${status}` !== end?.type || !cursor?.endsWith(`-${end.seq}`))
    trial.blame(
      "answer",
      `${id}: a cancel was told ${status} at ${cursor}, the log ends ${JSON.stringify(end)}`,
    );
}

/** An engine that was never asked has nothing to close; one that has said everything neither. */
async function reportClosing(trial: Trial, generation: TestedGeneration, watch: LogWatch): Promise<void> {
  const end = await watch.next(({ type }) => isTerminal(type));
  if (end.event.type !== "generation.cancelled") return;
  const requests = () => trial.world.upstream.requestsOf(generation.request.seed!);
  const isOpen = () => requests().some(({ closedAt, isAnswered }) => closedAt === undefined && !isAnswered);
  await delay(SETTLED_MS);
  while (isOpen() && performance.now() - end.at < CLOSED_LIMIT_MS) await delay(5);
  if (isOpen())
    trial.blame("ends", `${generation.id}: its engine's request is open ${CLOSED_LIMIT_MS} ms after`);
  for (const { closedAt } of requests())
    if (closedAt !== undefined) trial.recovered(Math.max(0, closedAt - end.at));
}
