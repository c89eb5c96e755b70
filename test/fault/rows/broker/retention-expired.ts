import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isTerminal } from "@reprise/protocol";
import { callNode, codeOf, type NodeAnswer, type NodeCall } from "../../trial/call.ts";
import { cursorsOf, watchLog } from "../../trial/log-watch.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { GenerationOptions, Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

const RETENTION_HOURS = 0.001;
const RETENTION_MS = RETENTION_HOURS * 3_600_000;
/** Runs for more than twice as long as its first events are kept. */
const LONG = { tokens: 400, tokensPerSecond: 50 };
const POLL_MS = 20;
const OLD_SEQ = 2;

export const retentionExpired: FaultRow = {
  name: "retention-expired",
  about:
    "logs are kept for 3.6 s: generations that ended before are 410 to every call, at both nodes, but for events that a node still has in memory, and longer ones continue to their end for every reader; from 3.6 s after a generation's end until it is generation_expired",
  proof: "a generation is answered as expired",
  together: 5,
  world: { env: { REPRISE_RETENTION_HOURS: String(RETENTION_HOURS) } },
  shortTrials: 1,
  async run(trial) {
    await Promise.all([
      ...Array.from({ length: 4 }, () => expires(trial)),
      outlives(trial, LONG),
      cancelled(trial),
    ]);
  },
};

/** The answer of every call once nothing of the generation is kept. */
async function expires(trial: Trial): Promise<void> {
  const { random, world } = trial;
  const idempotencyKey = randomUUID();
  const generation = await trial.create({ tokens: random.integer(1, 60), idempotencyKey });
  using watch = await watchLog(world, generation);
  await trial.read(generation, random.pick(["raw", "sdk"])).record.done;
  await watch.next(({ type }) => isTerminal(type));
  const endedAt = performance.now();
  const payloads: string[] = [];
  for (const { event, payload } of watch.told) payloads[event.seq] = payload;
  // On a slow machine the first events may have expired before the watch could read them.
  if (Object.keys(payloads).length < payloads.length) return trial.forget(generation);
  trial.seal(generation, payloads);
  const get: NodeCall = { node: 0, tenant: generation.tenant, method: "GET", path: `/${generation.id}` };
  /** The broker's marker, which makes the difference between 410 and 404, is kept for as long again as the log was. */
  const isForgotten = () => performance.now() - endedAt > 2 * RETENTION_MS;
  for (let code = ""; code !== "generation_expired"; await delay(POLL_MS)) {
    const answer = await callNode(world, get);
    if (isForgotten()) return;
    code = answer ? codeOf(answer) : "";
    if (answer?.status !== 200 && code !== "cursor_expired" && code !== "generation_expired")
      trial.blame("answer", `${generation.id} was answered ${answer?.status} while it expired`);
  }
  trial.hit();
  trial.recovered(Math.max(0, performance.now() - endedAt - RETENTION_MS));
  await Promise.all(
    callsTo(generation, { idempotencyKey, oldCursor: cursorsOf(payloads)[OLD_SEQ]! }).flatMap((call) =>
      [0, 1].map(async (node) => {
        const answer = await callNode(world, { ...call, node, tenant: generation.tenant });
        if (isForgotten()) return;
        const isTold = answer?.status === 410 && codeOf(answer) === "generation_expired";
        if (isTold || (answer && call.path.includes("/events") && isFromMemory(answer, payloads))) return;
        const { method = "POST", path } = call;
        trial.blame("answer", `${method} ${path}: ${answer?.status} ${answer?.body.slice(0, 200)}`);
      }),
    ),
  );
}

/** A node that sent the events recently may still send them, if it sends all after the cursor. */
function isFromMemory({ status, body }: NodeAnswer, payloads: readonly string[]): boolean {
  return status === 200 && payloads.slice(OLD_SEQ + 1).every((payload) => body.includes(payload));
}

function callsTo(
  { id, request }: TestedGeneration,
  { idempotencyKey, oldCursor }: { idempotencyKey: string; oldCursor: string },
): Pick<NodeCall, "method" | "path" | "headers" | "body">[] {
  const create = { path: "", body: request };
  const key = { "idempotency-key": idempotencyKey };
  return [
    { method: "GET", path: `/${id}` },
    { method: "GET", path: `/${id}/events` },
    { method: "GET", path: `/${id}/events`, headers: { "last-event-id": oldCursor } },
    { method: "GET", path: `/${id}/events?wait=10000`, headers: { accept: "application/json" } },
    { method: "GET", path: `/${id}/events?after=${oldCursor}`, headers: { accept: "application/json" } },
    { path: `/${id}/cancel` },
    { path: `/${id}/tool-results`, body: { call_id: "call", output: 1 } },
    { ...create, headers: key },
    { ...create, headers: { ...key, "last-event-id": oldCursor } },
  ];
}

/** Readers from the start lose nothing; a late reader, or one with an old cursor, gets an error, or all of it. */
async function outlives(
  trial: Trial,
  options: GenerationOptions,
  meanwhile?: (generation: TestedGeneration) => Promise<void>,
): Promise<void> {
  const { random, world } = trial;
  const generation = await trial.create(options);
  using watch = await watchLog(world, generation);
  const [first] = [trial.read(generation, "raw"), trial.read(generation, "sdk")];
  await first.record.until(({ seen }) => seen.length > OLD_SEQ);
  await watch.next(({ seq }) => seq >= OLD_SEQ);
  const payloads = watch.told.map(({ payload }) => payload);
  await delay(RETENTION_MS + random.integer(500, 2_500));
  const late = trial.read(generation, "raw");
  trial.disown(late);
  const old = callNode(world, {
    node: random.integer(0, 1),
    tenant: generation.tenant,
    method: "GET",
    path: `/${generation.id}/events?after=${cursorsOf(payloads)[OLD_SEQ]}`,
    headers: { accept: "application/json" },
  });
  await meanwhile?.(generation);
  const end = await watch.next(({ type }) => isTerminal(type));
  for (const { event, payload } of watch.told) payloads[event.seq] = payload;
  trial.seal(generation, payloads);
  await first.record.done;
  await judgeLate(trial, generation, { late, last: end.event.seq });
  const answer = await old;
  const isRight = answer && (answer.status === 200 || codeOf(answer) === "cursor_expired");
  if (!isRight)
    trial.blame("answer", `${generation.id}: an old cursor got ${answer?.status} ${answer?.body}`);
}

/** One whose beginning has expired is cancelled as any other. */
function cancelled(trial: Trial): Promise<void> {
  return outlives(
    trial,
    { ...LONG, tokens: 2_000, mayEnd: ["generation.cancelled"] },
    async ({ id, tenant }) => {
      const answer = await callNode(trial.world, { node: 0, tenant, path: `/${id}/cancel` });
      if (answer?.status !== 200)
        trial.blame("answer", `a cancel of ${id} got ${answer?.status} ${answer?.body}`);
    },
  );
}

async function judgeLate(
  trial: Trial,
  { id }: TestedGeneration,
  { late, last }: { late: ReturnType<Trial["read"]>; last: number },
): Promise<void> {
  const end = await late.record.done;
  const { seen } = late.record;
  const isTold = end.type === "refused" && end.code === "cursor_expired" && seen.length === 0;
  const isWhole = end.type === "ended" && seen.length === last && seen[0]!.seq === 1;
  if (!isTold && !isWhole)
    trial.blame("answer", `${id}: a late reader was shown ${seen.length} of ${last}, ${JSON.stringify(end)}`);
}
