import { setTimeout as delay } from "node:timers/promises";
import { readUsage } from "../measure/process-usage.ts";
import { type TargetName, TARGETS } from "../targets/all.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

export interface IdleRow {
  readonly target: TargetName;
  /** Resident memory of the delivering process per reader. */
  readonly rssBytesPerReader: number;
  /** JavaScript heap and buffers per reader, after garbage collection; undefined where it can't be asked for. */
  readonly heapBytesPerReader: number | undefined;
}

export interface IdleResult {
  readonly scenario: "IDLE";
  readonly readers: number;
  readonly rows: readonly IdleRow[];
}

/** Readers that are there before the count begins, so that what the first ones bring with them is not spread over all. */
const FIRST_READERS = 50;
/** What a reader costs over a bare Node response; the peers make no claim here. */
const COMPARED: ReadonlySet<TargetName> = new Set(["floor", "reprise"]);
const SETTLE_MS = 500;

/** IDLE: readers of one stream that says nothing. The kernel's socket buffers are not part of any process's memory. */
export async function runIdle(context: RunContext): Promise<IdleResult> {
  const readers = context.quick ? 500 : 2_000;
  const rows: IdleRow[] = [];
  for (const target of context.targets.filter((name) => COMPARED.has(name))) {
    context.say(`IDLE ${target}`);
    rows.push(await runOne(target, readers, context));
  }
  return { scenario: "IDLE", readers, rows };
}

async function runOne(name: TargetName, readers: number, { settings, signal }: RunContext): Promise<IdleRow> {
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
