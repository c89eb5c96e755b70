import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import type { KnownEvent, Policy } from "@reprise/protocol";
import { createTempDir, startTcpProxy } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";
import { startToldModel } from "./testing/told-model.ts";

/* The model says what it is told to, so that a worker is in mid-stream for as long as a test needs. */

const BEFORE = ["It ", "was ", "a dark "];
const AFTER = ["and ", "stormy ", "night."];
const WHOLE = [...BEFORE, ...AFTER].join("");
/** A living worker on a busy machine must not count as a lost one. */
const PATIENT_MS = 10_000;
const LONG_MS = 60_000;

const isEnd = ({ type }: KnownEvent) => /completed|failed|cancelled/.test(type);
const endsIn = (events: readonly KnownEvent[]) => events.filter(isEnd).map(({ type }) => type);
/** Each attempt as its number and why it began. */
const attemptsIn = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "generation.started" ? [[event.attempt, event.reason]] : []));

/** A generation whose worker, the victim, has told some of its text. It is the only worker, and has a network of its own. */
async function midway(ackWaitMs: number, policy: Policy) {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ ackWaitMs }));
  const dir = stack.use(await createTempDir("takeover"));
  const model = stack.use(await startToldModel("told", { continuation: "continue_final_message" }));
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  await writeFile(env.REPRISE_MODELS_FILE, model.modelsFile);
  const proxy = cluster.use(await startTcpProxy({ target: { port: cluster.server.port } }));
  const [{ url }, victim] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startWorker({ ...env, REPRISE_NATS_URL: `nats://${proxy.host}:${proxy.port}` }),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys["acme"]! });
  const { id } = await generations.create({ model: "told", input: "Tell me a story.", policy });
  const read = generations.stream(id).done();
  // A test that has failed by then does not await it.
  read.catch(() => undefined);
  const untilLog = (holds: (events: KnownEvent[]) => boolean) => cluster.untilLog("acme", id, holds);
  await model.say(BEFORE);
  await untilLog((events) => textOf(events) === BEFORE.join(""));
  const kept = stack.move();
  return {
    model,
    proxy,
    victim,
    read,
    untilEnded: () => untilLog((events) => events.some(isEnd)),
    untilTakenOver: () => untilLog((events) => attemptsIn(events).length > 1 || events.some(isEnd)),
    startAnother: () => cluster.startWorker(env),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test("a worker that is cut off past its ack wait is fenced when it is back, and does not come back for the job", async () => {
  // It must not use up the last attempt, nor say that all are used up, while the other one works.
  await using run = await midway(PATIENT_MS, { max_attempts: 2 });
  const { model, proxy, victim } = run;
  proxy.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } });
  await model.say(["and that is what it goes on with."]);
  await run.startAnother();
  const continued = JSON.parse(await model.asked(1)) as { messages: readonly object[] };
  expect(continued.messages.at(-1)).toMatchObject({ role: "assistant", content: BEFORE.join("") });
  proxy.setFaults({});
  // Told to stop, it finishes all that it has in hand.
  await victim.stop();
  await model.say(AFTER);
  await model.finish();
  const events = await run.untilEnded();
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "worker_lost"],
  ]);
  expect(endsIn(events)).toEqual(["generation.completed"]);
  expect(textOf(events)).toBe(WHOLE);
  expect(await run.read).toMatchObject({ status: "completed", text: WHOLE });
});

test("a worker that is told to stop hands over at once, long before its ack wait", async () => {
  // Under this policy a lost worker is the end of its generation.
  await using run = await midway(LONG_MS, { max_attempts: 1, on_worker_loss: "fail" });
  const { model, victim } = run;
  await run.startAnother();
  expect(await victim.stop()).toMatchObject({ code: 0, signal: null });
  expect(attemptsIn(await run.untilTakenOver())).toEqual([
    [1, undefined],
    [2, "handover"],
  ]);
  await model.asked(1);
  await model.say(AFTER);
  await model.finish();
  const events = await run.untilEnded();
  expect(endsIn(events)).toEqual(["generation.completed"]);
  expect(textOf(events)).toBe(WHOLE);
  expect(await run.read).toMatchObject({ status: "completed", text: WHOLE });
});

test("a generation whose last permitted worker is killed fails, once", async () => {
  await using run = await midway(PATIENT_MS, { max_attempts: 1 });
  await run.startAnother();
  run.victim.kill("SIGKILL");
  const events = await run.untilTakenOver();
  expect(events.at(-1)).toMatchObject({ type: "generation.failed", error: { code: "worker_lost" } });
  expect(endsIn(events)).toEqual(["generation.failed"]);
  const error = expect.objectContaining({ code: "worker_lost" }) as unknown;
  expect(await run.read).toMatchObject({ status: "failed", error, text: BEFORE.join("") });
});
