import { setTimeout as delay } from "node:timers/promises";
import { decodeEvent, type KnownEvent } from "@reprise/protocol";
import type { ReaderRecord } from "../../readers/reader-record.ts";
import { callNode, codeOf, type NodeAnswer } from "../../trial/call.ts";
import { timeToEvent } from "../../trial/recovery.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "./takeover.ts";

type ToolCall = Extract<KnownEvent, { type: "tool.call" }>;

/** One caller's answer to a call, and what it was told. */
interface Submission {
  readonly callId: string;
  readonly output: string;
  readonly answer: NodeAnswer | undefined;
}

const GENERATIONS = 8;
const CALLERS = 4;
/** How far apart the callers of one call may be. */
const SPREAD_MS = 20;
/** While a takeover is due the answers come before it, in its middle, or after it; otherwise at once. */
const LONGEST_WAIT_MS = 1_500;
const CONFLICT = "tool_result_conflict";
const TOOL_CALL = '"type":"tool.call"';

export const toolResultRaces: FaultRow = {
  name: "tool-result-races",
  about:
    "each tool call is answered by four clients at once at two nodes, while the worker that asked lives, is killed, is told to stop or is being replaced, and some generations are cancelled: one answer counts; from the last answer that a generation waited for until the model's next event",
  proof:
    "an answer that came second is refused, and where a worker is ended a generation of it gets a later attempt",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const fault = random.pick(["none", "SIGKILL", "SIGTERM"] as const);
    const creating = Array.from({ length: GENERATIONS }, async () => {
      const isCancelled = random.chance(0.25);
      const generation = await trial.create({
        tokens: 80,
        simulator: { tool_call_after_tokens: random.integer(0, 40), tool_calls: random.integer(1, 3) },
        mayEnd: isCancelled ? ["generation.completed", "generation.cancelled"] : ["generation.completed"],
      });
      const { record } = trial.read(generation, "raw");
      trial.read(generation, "sdk");
      return { generation, record, isCancelled };
    });
    const asking = await Promise.all(creating);
    await asking[0]!.record.until(({ seen }) => seen.some(isCall));
    const faulty = (async () => {
      const { readers } = trial;
      await delay(random.integer(0, SPREAD_MS));
      const { busiest: victim } = findBusiest(world, readers);
      if (fault === "SIGKILL") await victim.kill();
      else if (fault === "SIGTERM") await victim.stop();
    })();
    const longestMs = fault === "none" ? 0 : LONGEST_WAIT_MS;
    const all = await Promise.all(
      asking.map(async ({ generation, record, isCancelled }) => {
        const submissions = await answerAll(trial, record, { longestMs, isCancelled });
        await judgeAnswers(trial, generation, submissions);
        return submissions;
      }),
    );
    await faulty;
    await trial.ended();
    const refused = all.flat().filter(({ answer }) => answer && codeOf(answer) === CONFLICT);
    const isTakenOver = asking.some(({ record }) => record.seen.some(isLaterAttempt));
    if (fault === "none" || isTakenOver) trial.hit(refused.length);
  },
};

/** Answers every call as it is seen, until the generation has ended. */
async function answerAll(
  trial: Trial,
  record: ReaderRecord,
  { longestMs, isCancelled }: { longestMs: number; isCancelled: boolean },
): Promise<Submission[]> {
  const submissions: Submission[] = [];
  const answered = new Set<string>();
  for (;;) {
    const open = () => callsOf(record).filter(({ call_id }) => !answered.has(call_id));
    await record.until(() => open().length > 0);
    const calls = open();
    if (calls.length === 0) return submissions;
    for (const { call_id } of calls) answered.add(call_id);
    await delay(trial.random.integer(0, longestMs));
    const { generation } = record;
    const cancelling = isCancelled ? cancel(trial, generation) : undefined;
    submissions.push(...(await Promise.all(calls.flatMap((call) => submitAtOnce(trial, generation, call)))));
    await cancelling;
    reportContinuation(trial, record, submissions);
  }
}

function submitAtOnce(trial: Trial, generation: TestedGeneration, { call_id: callId }: ToolCall) {
  const { random, world } = trial;
  return Array.from({ length: CALLERS }, async (_, caller): Promise<Submission> => {
    const output = `${callId} by caller ${caller}`;
    const node = (caller + random.integer(0, 1)) % world.deliveries.length;
    await delay(random.integer(0, SPREAD_MS));
    const path = `/${generation.id}/tool-results`;
    const body = { call_id: callId, output };
    return { callId, output, answer: await callNode(world, { node, tenant: generation.tenant, path, body }) };
  });
}

async function cancel(trial: Trial, { id, tenant }: TestedGeneration): Promise<void> {
  await delay(trial.random.integer(0, SPREAD_MS));
  const answer = await callNode(trial.world, { node: 0, tenant, path: `/${id}/cancel` });
  if (answer?.status !== 200) trial.blame("refused", `a cancel of ${id} was answered ${answer?.status}`);
}

/** As many 200s as results, none for two; and the result is what that caller said. */
async function judgeAnswers(
  trial: Trial,
  { id, ref }: TestedGeneration,
  submissions: readonly Submission[],
): Promise<void> {
  const events = (await trial.world.readLog(ref)).map((payload) => decodeEvent(payload) as KnownEvent);
  const calls = events.filter((event) => event.type === "tool.call");
  const results = events.filter((event) => event.type === "tool.result");
  const isCancelled = events.some(({ type }) => type === "generation.cancelled");
  const blame = (what: string) => trial.blame("answer", `${id}: ${what}`);
  if (new Set(calls.map(({ call_id }) => call_id)).size !== calls.length) blame("a tool call is there twice");
  for (const { call_id: callId } of calls) {
    const mine = submissions.filter((submission) => submission.callId === callId);
    const stored = results
      .filter(({ call_id }) => call_id === callId)
      .map(({ output }) => JSON.stringify(output));
    const taken = mine
      .filter(({ answer }) => answer?.status === 200)
      .map(({ output }) => JSON.stringify(output));
    const least = isCancelled ? 0 : 1;
    if (stored.length > 1 || stored.length < least) blame(`${callId} has ${stored.length} results`);
    if (taken.join() !== stored.join()) blame(`${callId}: taken ${taken.join()}, stored ${stored.join()}`);
    for (const { answer } of mine) {
      const code = answer && codeOf(answer);
      const isRight = code === "" || code === CONFLICT || (isCancelled && code === "generation_ended");
      if (!isRight) blame(`${callId}: an answer got ${answer?.status} ${answer?.body ?? "nothing"}`);
    }
  }
}

function reportContinuation(trial: Trial, record: ReaderRecord, submissions: readonly Submission[]): void {
  const taken = submissions.flatMap(({ answer }) => (answer?.status === 200 ? [answer.at] : []));
  if (taken.length === 0) return;
  const since = Math.max(...taken);
  void record.done.then(() => {
    const ms = timeToEvent(record, since, ({ payload }) => /"type":"(output|generation)\./.test(payload));
    if (ms !== undefined) trial.recovered(ms);
  });
}

function callsOf({ seen }: ReaderRecord): ToolCall[] {
  return seen.filter(isCall).map(({ payload }) => decodeEvent(payload) as ToolCall);
}

function isLaterAttempt({ payload }: { readonly payload: string }): boolean {
  const event = decodeEvent(payload) as KnownEvent;
  return event.type === "generation.started" && event.attempt > 1;
}

function isCall({ payload }: { readonly payload: string }): boolean {
  return payload.includes(TOOL_CALL);
}
