import { TARGETS } from "../targets/all.ts";
import { measureStream, type StreamMeasurement } from "./measure-stream.ts";
import { type RunContext, type ScenarioResult, startRun } from "./run.ts";

const TOKENS_PER_SECOND = 5_000;
const READERS = 100;
const STALLED = 200;
const SECONDS = 4;
/**
 * The kernel buffers 4 MB for a reader that does not read, which is 7 s of the stream. Readers that come after the first measurement get its
 * 6 s at once.
 */
const WARM_UP_SECONDS = { without: 2, beside: 4 };

/**
 * STALLED: the cost of readers that never read, in the latency of the others and delivery's memory, which holds the stream's events too,
 * 0.7 MB/s. Reprise only.
 */
export async function runStalled({ settings, signal, say }: RunContext): Promise<ScenarioResult> {
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
  const rowOf = (stalled: number, measured: StreamMeasurement) => {
    return { stalled, ...measured, growthBytes: (measured.rssBytes[role] ?? 0) - atFirst };
  };
  return {
    scenario: "STALLED",
    what: `1 stream x ${TOKENS_PER_SECOND} tokens/s x ${READERS} readers, alone and beside readers that never read`,
    rows: [rowOf(0, without), rowOf(STALLED, beside)],
  };
}
