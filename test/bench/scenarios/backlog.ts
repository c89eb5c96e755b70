import { Histogram, type Percentiles } from "../measure/histogram.ts";
import { type TargetName, TARGETS } from "../targets/all.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

export interface BacklogRow {
  readonly target: TargetName;
  /** From a reader's first packet until it has caught up, in microseconds. Undefined where late readers get nothing. */
  readonly caughtUp: Percentiles | undefined;
}

export interface BacklogResult {
  readonly scenario: "S3";
  readonly events: number;
  readonly readers: number;
  readonly rows: readonly BacklogRow[];
}

const EVENTS = 2_000;
const READERS = 50;

/**
 * S3: readers that are 2,000 events behind come back, 50 in the same moment. Each round takes a stream that no reader has
 * read yet, so that nothing is in a cache.
 */
export async function runBacklog(context: RunContext): Promise<BacklogResult> {
  const rows: BacklogRow[] = [];
  for (const target of context.targets) {
    context.say(`S3 ${target}`);
    rows.push({ target, caughtUp: await runOne(target, context) });
  }
  return { scenario: "S3", events: EVENTS, readers: READERS, rows };
}

async function runOne(
  name: TargetName,
  { settings, quick, signal }: RunContext,
): Promise<Percentiles | undefined> {
  await using run = await startRun(signal, () => TARGETS[name](settings));
  const { load, target } = run;
  if (!target.replays) return undefined;
  const histogram = new Histogram();
  const rounds = quick ? 1 : 6;
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const spec = await target.fill(EVENTS);
    const times = await load.catchUp({ spec, copies: READERS, events: EVENTS });
    await load.disconnect();
    if (round > 0) times.forEach((time) => histogram.record(time));
  }
  return histogram.percentiles();
}
