import { Histogram, type Percentiles } from "../measure/histogram.ts";
import { type TargetName, TARGETS } from "../targets/all.ts";
import { type RunContext, type ScenarioResult, startRun } from "./run.ts";

const EVENTS = 2_000;
const READERS = 50;

/** S3: 50 readers that miss 2,000 events come back at once. Each round has a stream without earlier readers: nothing is cached. */
export async function runBacklog(context: RunContext): Promise<ScenarioResult> {
  const rows: object[] = [];
  for (const target of context.targets) {
    context.say(`S3 ${target}`);
    rows.push({ target, caughtUpMicros: await runOne(target, context) });
  }
  return { scenario: "S3", what: `${READERS} readers at once, ${EVENTS} events late`, rows };
}

/** Times from a reader's first packet until it has caught up. Undefined if late readers get nothing. */
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
