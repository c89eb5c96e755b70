import { startChild } from "../children/child.ts";
import { nowMicros, untilMicros } from "../measure/clock.ts";
import { cpuBetween, readUsage } from "../measure/process-usage.ts";
import { SHARDS, startBenchBroker } from "../targets/reprise/broker.ts";
import type { RunContext } from "./run-context.ts";

export interface AppendResult {
  readonly scenario: "APPEND";
  readonly generations: number;
  readonly eventsPerSecond: number;
  /** CPU microseconds per event, by process. */
  readonly cpuPerEvent: Readonly<Record<string, number>>;
}

const GENERATIONS = 1_000;
const WARM_UP_MICROS = 1e6;

/**
 * APPEND: how many events one worker process stores per second, over 1,000 generations that each append their next event as
 * soon as the last one is stored. Nothing coalesces: every event is a compare-and-set publish of its own, and checkpoints are
 * written as ever.
 */
export async function runAppend({ settings, quick, signal, say }: RunContext): Promise<AppendResult> {
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
    generations: GENERATIONS,
    eventsPerSecond: events / ((after.micros - before.micros) / 1e6),
    cpuPerEvent: Object.fromEntries(cpu.map(([role, micros]) => [role, micros / events])),
  };
}
