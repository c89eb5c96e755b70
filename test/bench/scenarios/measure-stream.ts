import type { LoadClient } from "../load/load-client.ts";
import type { Measured } from "../load/measurement.ts";
import { nowMicros, untilMicros } from "../measure/clock.ts";
import { cpuBetween, readUsage, type UsageByRole } from "../measure/process-usage.ts";
import type { ReaderSpec, RunningTarget } from "../targets/target.ts";

/** A load of streams and their readers. */
export interface StreamShape {
  readonly streams: number;
  readonly tokensPerSecond: number;
  readonly readersPerStream: number;
  /** Readers per stream that don't read. Default 0. */
  readonly stalledPerStream?: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface StreamMeasurement extends Measured {
  /** CPU microseconds per token that readers got, by process. */
  readonly cpuMicrosPerToken: Readonly<Record<string, number>>;
  readonly rssBytes: Readonly<Record<string, number>>;
  /** The same before the readers came. */
  readonly rssBytesBefore: Readonly<Record<string, number>>;
  /** Of the load client, in CPU seconds per second: near 1 it is itself what limits. */
  readonly clientLoad: number;
}

/** The load of S1. */
export function s1Shape({ quick }: { readonly quick: boolean }, warmUpSeconds = 2, seconds = 4): StreamShape {
  return {
    streams: 100,
    tokensPerSecond: 50,
    readersPerStream: 1,
    warmUpSeconds: quick ? 1 : warmUpSeconds,
    seconds: quick ? 2 : seconds,
  };
}

export function describeShape({ streams, tokensPerSecond, readersPerStream }: StreamShape): string {
  return `${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers, from due time to reader`;
}

const HEAD_START_MICROS = 300_000;
const PATIENCE_MS = 3_000;

/**
 * Connects the readers, lets tokens flow on schedule, and tells what the readers saw and what it took.
 * @param opened readers that create streams, or of streams to continue, as many as the shape says; new streams without it
 */
export async function measureStream(
  target: RunningTarget,
  load: LoadClient,
  shape: StreamShape,
  signal: AbortSignal,
  opened?: readonly ReaderSpec[],
): Promise<StreamMeasurement> {
  const { streams, tokensPerSecond, readersPerStream, stalledPerStream = 0, warmUpSeconds, seconds } = shape;
  const specs = opened ?? (await target.openStreams(streams));
  const atFirst = await readUsage(target.processes);
  if (stalledPerStream > 0) await load.stall({ specs, copies: stalledPerStream });
  await load.connect({ specs, copies: readersPerStream });
  await target.begun(streams);
  const startMicros = nowMicros() + HEAD_START_MICROS;
  const fromMicros = startMicros + warmUpSeconds * 1e6;
  const endMicros = fromMicros + seconds * 1e6;
  const tokens = Math.round((warmUpSeconds + seconds) * tokensPerSecond);
  const schedule = { streams, tokensPerSecond, startMicros, tokens };
  await load.measureFrom({ fromMicros, schedule });
  const processes = [...target.processes, { role: "load client", pid: load.pid }];

  const [before, after] = await Promise.all([
    untilMicros(fromMicros, signal).then(() => readUsage(processes)),
    untilMicros(endMicros, signal).then(() => readUsage(processes)),
    target.produce(schedule),
  ]);
  const expected = Math.round(seconds * tokensPerSecond) * streams * readersPerStream;
  const measured = await load.collect({ expected, patienceMs: PATIENCE_MS });
  await load.disconnect();

  const { "load client": clientMicros = 0, ...cpu } = cpuBetween(before, after);
  const received = measured.latencyMicros.count;
  const perToken = Object.entries(cpu).map(([role, micros]): [string, number] => [role, micros / received]);
  const rssOf = (usage: UsageByRole) =>
    Object.fromEntries(target.processes.map(({ role }) => [role, usage[role]?.rssBytes ?? 0]));
  return {
    ...measured,
    cpuMicrosPerToken: Object.fromEntries(perToken),
    rssBytes: rssOf(after),
    rssBytesBefore: rssOf(atFirst),
    clientLoad: clientMicros / (seconds * 1e6),
  };
}

/** CPU microseconds per second that keeping the schedule costs the producer: in the floor that is the delivering process. */
export async function measurePace(
  target: RunningTarget,
  shape: StreamShape,
  signal: AbortSignal,
): Promise<number> {
  const { streams, tokensPerSecond, seconds } = shape;
  const startMicros = nowMicros() + HEAD_START_MICROS;
  const [before, after] = await Promise.all([
    untilMicros(startMicros, signal).then(() => readUsage(target.processes)),
    untilMicros(startMicros + seconds * 1e6, signal).then(() => readUsage(target.processes)),
    target.produce(
      { streams, tokensPerSecond, startMicros, tokens: tokensPerSecond * seconds },
      { silent: true },
    ),
  ]);
  return (cpuBetween(before, after)[target.deliveryRole] ?? 0) / seconds;
}
