import { startChild } from "../../children/child.ts";
import type { TraceMeasured, TraceOrder } from "../../load/trace-client.ts";
import { nowMicros } from "../../measure/clock.ts";
import { cpuBetween, readUsage } from "../../measure/process-usage.ts";
import { startPlatform } from "../../targets/reprise/platform.ts";
import type { RunContext } from "../run-context.ts";
import { readTrace } from "./trace-file.ts";

export interface TraceOptions {
  path: string;
  /** Arrivals come this many times as fast as they did; an answer's tokens keep their own pace. */
  speed: number;
  /** The part of the trace that is replayed, in seconds of the replay. */
  seconds: number;
}

export interface TraceResult extends TraceMeasured {
  readonly scenario: "TRACE";
  readonly options: TraceOptions;
  readonly requests: number;
  /** CPU microseconds per token, by process. */
  readonly cpuPerToken: Readonly<Record<string, number>>;
}

const HEAD_START_MICROS = 500_000;

/** TRACE: real arrivals against the whole of Reprise: create and stream in one request, the inference-worker, the simulator. */
export async function runTrace(options: TraceOptions, { settings, say }: RunContext): Promise<TraceResult> {
  say(`TRACE ${options.path} at ${options.speed}x`);
  const all = await readTrace(options.path);
  const arrivals = all
    .map((arrival) => ({ ...arrival, atMicros: Math.round(arrival.atMicros / options.speed) }))
    .filter(({ atMicros }) => atMicros < options.seconds * 1e6);
  await using platform = await startPlatform(settings);
  await using client = await startChild({
    name: "trace client",
    script: new URL("../load/trace-client.ts", import.meta.url),
  });
  const { url, apiKey, processes } = platform;
  const before = await readUsage(processes);
  const order: TraceOrder = { url, apiKey, startMicros: nowMicros() + HEAD_START_MICROS, arrivals };
  const measured = await client.call<TraceMeasured>("replay", order);
  const cpu = Object.entries(cpuBetween(before, await readUsage(processes)));
  return {
    scenario: "TRACE",
    options,
    requests: arrivals.length,
    ...measured,
    cpuPerToken: Object.fromEntries(cpu.map(([role, micros]) => [role, micros / measured.tokens])),
  };
}
