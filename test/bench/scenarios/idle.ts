import { setTimeout as delay } from "node:timers/promises";
import { readUsage } from "../measure/process-usage.ts";
import { type TargetName, TARGETS } from "../targets/all.ts";
import { type RunContext, type ScenarioResult, startRun } from "./run.ts";

/** Readers before the first sample: what the first readers allocate once does not count. */
const FIRST_READERS = 50;
/** The cost of a reader is compared with a bare Node response only. */
const COMPARED: ReadonlySet<TargetName> = new Set(["floor", "reprise"]);
const SETTLE_MS = 500;

/** IDLE: readers of one silent stream. Socket buffers of the kernel belong to no process. */
export async function runIdle(context: RunContext): Promise<ScenarioResult> {
  const readers = context.quick ? 500 : 2_000;
  const rows: object[] = [];
  for (const target of context.targets.filter((name) => COMPARED.has(name))) {
    context.say(`IDLE ${target}`);
    rows.push(await runOne(target, readers, context));
  }
  return { scenario: "IDLE", what: `${readers} silent readers of one stream`, rows };
}

async function runOne(name: TargetName, readers: number, { settings, signal }: RunContext): Promise<object> {
  await using run = await startRun(signal, () => TARGETS[name](settings));
  const { load, target } = run;
  const specs = await target.openStreams(1);
  const read = async () => {
    await delay(SETTLE_MS, undefined, { signal });
    const heap = await target.collectGarbage();
    const usage = await readUsage(target.processes);
    return { heap, rss: usage[target.deliveryRole]?.rssBytes ?? 0 };
  };
  await load.connect({ specs, copies: FIRST_READERS });
  const before = await read();
  await load.connect({ specs, copies: readers });
  const after = await read();
  await load.disconnect();
  return {
    target: name,
    rssBytesPerReader: (after.rss - before.rss) / readers,
    heapBytesPerReader:
      before.heap === undefined || after.heap === undefined
        ? undefined
        : (after.heap - before.heap) / readers,
  };
}
