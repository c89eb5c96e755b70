import { startChild } from "../../children/child.ts";
import type { BacklogOrder } from "../../load/backlog-client.ts";
import type { TraceMeasured, TraceOrder } from "../../load/trace-client.ts";
import { nowMicros } from "../../measure/clock.ts";
import { startPlatform } from "../../targets/reprise/platform.ts";
import type { RunContext } from "../run-context.ts";

export interface FairRow {
  /** Of the worker's slots, those that are not for tenants with their share. */
  readonly reserve: number;
  /** Generations that another tenant has queued; 0 for the undisturbed row. */
  readonly backlog: number;
  readonly quiet: TraceMeasured;
}

export interface FairResult {
  readonly scenario: "FAIR";
  readonly requests: number;
  readonly slots: number;
  readonly backlogSeconds: number;
  readonly rows: readonly FairRow[];
}

const SLOTS = 20;
/** The default, and none. */
const RESERVES = [2, 0];
const BACKLOG = 10 * SLOTS;
const BACKLOG_TOKENS = 600;
const BACKLOG_RATE = 20;
const EVERY_MICROS = 500_000;
const TOKENS = 20;
const HEAD_START_MICROS = 500_000;

/** FAIR: one tenant's creates and streams, alone and while another one has queued ten times as many long generations as there are slots. */
export async function runFair({ settings, say, quick }: RunContext): Promise<FairResult> {
  const requests = quick ? 40 : 120;
  const rows: FairRow[] = [];
  for (const reserve of RESERVES) rows.push(...(await measure({ settings, say, reserve, requests })));
  return { scenario: "FAIR", requests, slots: SLOTS, backlogSeconds: BACKLOG_TOKENS / BACKLOG_RATE, rows };
}

interface Measurement extends Pick<RunContext, "settings" | "say"> {
  readonly reserve: number;
  readonly requests: number;
}

async function measure({ settings, say, reserve, requests }: Measurement): Promise<FairRow[]> {
  await using platform = await startPlatform(settings, { slots: SLOTS, reserve });
  await using quiet = await startChild({
    name: "quiet client",
    script: new URL("../../load/trace-client.ts", import.meta.url),
  });
  await using backlog = await startChild({
    name: "backlog client",
    script: new URL("../../load/backlog-client.ts", import.meta.url),
  });
  const { url, apiKey, otherKey } = platform;
  const arrivals = Array.from({ length: requests }, (_, i) => ({
    atMicros: i * EVERY_MICROS,
    inputTokens: 20,
    outputTokens: TOKENS,
  }));
  const replay = async (count = requests) => {
    const startMicros = nowMicros() + HEAD_START_MICROS;
    const order: TraceOrder = {
      url,
      apiKey,
      startMicros,
      arrivals: arrivals.slice(0, count),
      isEachTold: true,
    };
    return quiet.call<TraceMeasured>("replay", order);
  };
  // What is slow only because it runs for the first time is in no row.
  await replay(5);
  const rows: FairRow[] = [];
  if (reserve > 0) {
    say(`FAIR with a reserve of ${reserve}, alone`);
    rows.push({ reserve, backlog: 0, quiet: await replay() });
  }
  const order: BacklogOrder = {
    url,
    apiKey: otherKey,
    creates: BACKLOG,
    tokens: BACKLOG_TOKENS,
    tokensPerSecond: BACKLOG_RATE,
  };
  const created = await backlog.call<number>("queue", order);
  say(`FAIR with a reserve of ${reserve}, beside ${created} queued generations`);
  rows.push({ reserve, backlog: created, quiet: await replay() });
  return rows;
}
