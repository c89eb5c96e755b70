import { setTimeout as delay } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import type { SeededRandom } from "@reprise/testkit";
import type { Reader, Seen } from "../../readers/reader-record.ts";
import { callNode, type NodeCall } from "../../trial/call.ts";
import { cursorsOf } from "../../trial/log-watch.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { Trial } from "../../trial/trial.ts";
import type { Tenant } from "../../world/tenant.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest, reportTakeovers } from "../worker/takeover.ts";

type Attack = Pick<NodeCall, "method" | "path" | "headers" | "body">;

interface Target {
  readonly generation: TestedGeneration;
  readonly idempotencyKey: string;
  readonly reader: Reader;
}

const GENERATIONS = 6;
const PAUSE_MS = 10;
/** Of half of the generations; waits until the attack is over. */
const CALL_ID = "sim_call_20_0";
const TARGET = { tokens: 150, tokensPerSecond: 60 };

export const foreignTenant: FaultRow = {
  name: "foreign-tenant",
  about:
    "another tenant reads, resumes, cancels, answers tool calls and repeats creates with the ids, cursors, calls and keys of a tenant whose worker is killed: 404, or a generation of its own; until the next attempt's first event",
  proof: "an attack is answered, and a generation of the killed worker gets a later attempt",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const [owner, stranger] = random.chance(0.5) ? world.tenants : world.tenants.toReversed();
    const targets = await Promise.all(
      Array.from({ length: GENERATIONS }, async (_, index): Promise<Target> => {
        const idempotencyKey = randomUUID();
        const simulator = index % 2 === 0 ? {} : { tool_call_after_tokens: 20 };
        const generation = await trial.create({ ...TARGET, tenant: owner!, idempotencyKey, simulator });
        return { generation, idempotencyKey, reader: trial.read(generation, "raw") };
      }),
    );
    const readers = targets.map(({ reader }) => reader);
    await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length > 3)));
    const over = new AbortController();
    const attacking = attack(trial, stranger!, targets, over.signal);
    const { busiest: victim, served: affected } = findBusiest(world, readers);
    const killedAt = performance.now();
    await victim.kill();
    await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.some(isSettled))));
    over.abort();
    const answered = await attacking;
    await Promise.all(
      targets.filter((_, index) => index % 2 === 1).map(({ generation }) => answer(trial, generation)),
    );
    await trial.ended();
    if (answered > 0) reportTakeovers(trial, affected, killedAt);
  },
};

/** Everything that the API offers, with what belongs to others, until told to stop. @returns how many calls were answered */
async function attack(
  trial: Trial,
  stranger: Tenant,
  targets: readonly Target[],
  over: AbortSignal,
): Promise<number> {
  const { random, world } = trial;
  let answers = 0;
  while (!over.aborted) {
    const target = random.pick(targets);
    const node = random.integer(0, world.deliveries.length - 1);
    const cursor = cursorFrom(random, target);
    const attempt = random.pick(attacksOn(target, cursor));
    const answered = await callNode(world, { ...attempt, node, tenant: stranger });
    if (answered) answers++;
    if (answered && answered.status !== 404)
      trial.blame(
        "foreign",
        `${stranger.id} was answered ${answered.status} for ${attempt.path} of ${target.generation.id}`,
      );
    await joinWithKey(trial, { stranger, target, node, cursor });
    await delay(PAUSE_MS);
  }
  return answers;
}

/** One that its owner was given. */
function cursorFrom(random: SeededRandom, { reader: { record } }: Target): string {
  return random.pick(cursorsOf(record.seen.map(({ payload }) => payload)));
}

function attacksOn({ generation: { id } }: Target, cursor: string): readonly Attack[] {
  return [
    { method: "GET", path: `/${id}` },
    { method: "GET", path: `/${id}/events` },
    { method: "GET", path: `/${id}/events`, headers: { "last-event-id": cursor } },
    {
      method: "GET",
      path: `/${id}/events?after=${cursor}&wait=1000`,
      headers: { accept: "application/json" },
    },
    { path: `/${id}/cancel`, body: { reason: "not mine" } },
    { path: `/${id}/tool-results`, body: { call_id: CALL_ID, output: "not mine" } },
  ];
}

/** A key belongs to the tenant that used it: the same one of another tenant names nothing there is, and then something else. */
async function joinWithKey(
  trial: Trial,
  { stranger, target, node, cursor }: { stranger: Tenant; target: Target; node: number; cursor: string },
): Promise<void> {
  const { generation, idempotencyKey } = target;
  const headers = { "idempotency-key": idempotencyKey, "last-event-id": cursor };
  const call = { node, tenant: stranger, path: "", body: generation.request, headers };
  const answered = await callNode(trial.world, call);
  if (answered && (answered.status !== 400 || !answered.body.includes("cursor_invalid")))
    trial.blame("foreign", `${stranger.id} resumed with the key of ${generation.id}: ${answered.status}`);
}

async function answer(trial: Trial, { id, tenant }: TestedGeneration): Promise<void> {
  const body = { call_id: CALL_ID, output: "mine" };
  const answered = await callNode(trial.world, { node: 0, tenant, path: `/${id}/tool-results`, body });
  if (answered?.status !== 200)
    trial.blame(
      "foreign",
      `${id}: its owner's tool result was answered ${answered?.status} ${answered?.body}`,
    );
}

function isSettled({ payload }: Seen): boolean {
  return payload.includes('"type":"tool.call"') || payload.includes('"type":"generation.completed"');
}
