import { startChild } from "../children/child.ts";
import { nowMicros, untilMicros } from "../measure/clock.ts";
import { cpuBetween, readUsage } from "../measure/process-usage.ts";
import { SHARDS, startBenchBroker } from "../targets/reprise/broker.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

const GENERATIONS = 1_000;
const WARM_UP_MICROS = 1e6;

/**
 * APPEND: events that one worker process stores per second, over 1,000 generations that each append their next event once the last one is
 * stored. Nothing coalesces: every event is one compare-and-set publish; checkpoints are written as usual.
 */
export async function runAppend({ settings, quick, signal, say }: RunContext): Promise<ScenarioResult> {
  say("APPEND");
  await using broker = await startBenchBroker(settings.natsServer);
  const script = new URL("../targets/reprise/append-worker.ts", import.meta.url);
  await using worker = await startChild({
    name: "worker",
    script,
    args: [String(SHARDS)],
    env: { REPRISE_NATS_URL: broker.urlFor("inference-worker") },
  });
  await worker.call("start", { generations: GENERATIONS });
  const processes = [
    { role: "worker", pid: worker.pid },
    { role: "nats-server", pid: broker.server.pid },
  ];
  const read = async () => ({
    micros: nowMicros(),
    stored: await worker.call<number>("stored"),
    usage: await readUsage(processes),
  });
  await untilMicros(nowMicros() + WARM_UP_MICROS, signal);
  const before = await read();
  await untilMicros(before.micros + (quick ? 2e6 : 6e6), signal);
  const after = await read();
  const events = after.stored - before.stored;
  const cpu = Object.entries(cpuBetween(before.usage, after.usage));
  return {
    scenario: "APPEND",
    what: `one worker, ${GENERATIONS} generations`,
    rows: [
      {
        eventsPerSecond: events / ((after.micros - before.micros) / 1e6),
        cpuPerEvent: Object.fromEntries(cpu.map(([role, micros]) => [role, micros / events])),
      },
    ],
  };
}
