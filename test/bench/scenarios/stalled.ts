import { TARGETS } from "../targets/all.ts";
import { measureStream, type StreamMeasurement } from "./measure-stream.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

export interface StalledRow extends StreamMeasurement {
  /** Readers that never read, beside those that do. */
  readonly stalled: number;
  /** What delivery's resident memory has grown by since before the first reader came. */
  readonly growthBytes: number;
}

export interface StalledResult {
  readonly scenario: "STALLED";
  readonly tokensPerSecond: number;
  readonly readers: number;
  /** Without stalled readers, and then with them, of one stream in one run. */
  readonly rows: readonly [StalledRow, StalledRow];
}

const TOKENS_PER_SECOND = 5_000;
const READERS = 100;
const STALLED = 200;
const SECONDS = 4;
/**
 * The kernel takes 4 MB for a reader that does not read, which are 7 s of the stream: until then it is one more reader. Those who
 * come after the first measurement get its 6 s at once.
 */
const WARM_UP_SECONDS = { without: 2, beside: 4 };

/**
 * STALLED: what readers that never read cost the others, and delivery's memory. Reprise only. The memory holds the events of the
 * stream as well, 0.7 MB/s of them.
 */
export async function runStalled({ settings, signal, say }: RunContext): Promise<StalledResult> {
  await using run = await startRun(signal, () => TARGETS.reprise(settings));
  const { load, target } = run;
  const specs = await target.openStreams(1);
  const shape = {
    streams: 1,
    tokensPerSecond: TOKENS_PER_SECOND,
    readersPerStream: READERS,
    seconds: SECONDS,
  };
  const measure = (warmUpSeconds: number, stalledPerStream: number) => {
    say(`STALLED ${READERS} readers that read, ${stalledPerStream} that don't`);
    return measureStream(target, load, { ...shape, warmUpSeconds, stalledPerStream }, signal, specs);
  };
  const without = await measure(WARM_UP_SECONDS.without, 0);
  const beside = await measure(WARM_UP_SECONDS.beside, STALLED);
  const role = target.deliveryRole;
  const atFirst = without.rssBytesBefore[role] ?? 0;
  const rowOf = (stalled: number, measured: StreamMeasurement): StalledRow => {
    return { stalled, ...measured, growthBytes: (measured.rssBytes[role] ?? 0) - atFirst };
  };
  return {
    scenario: "STALLED",
    tokensPerSecond: TOKENS_PER_SECOND,
    readers: READERS,
    rows: [rowOf(0, without), rowOf(STALLED, beside)],
  };
}
