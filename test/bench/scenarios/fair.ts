import type { QueueOrder, ReplayMeasured, ReplayOrder } from "../load/create-client.ts";
import { nowMicros } from "../measure/clock.ts";
import { startCreateClient, startPlatform } from "../targets/reprise/platform.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

const SLOTS = 20;
/** The default reserve, and none. */
const RESERVES = [2, 0];
const BACKLOG = 10 * SLOTS;
const BACKLOG_OPTIONS = { tokens: 600, tokens_per_second: 20 };
const EVERY_MICROS = 500_000;
const TOKENS = 20;
const HEAD_START_MICROS = 500_000;

/** FAIR: one tenant's creates and streams, alone and while another tenant has queued ten times as many long generations as there are slots. */
export async function runFair(context: RunContext): Promise<ScenarioResult> {
  const rows: object[] = [];
  for (const reserve of RESERVES) rows.push(...(await measure(reserve, context)));
  return { scenario: "FAIR", what: `2 creates a second with ${SLOTS} slots, to the first token`, rows };
}

async function measure(reserve: number, { settings, say, quick }: RunContext): Promise<object[]> {
  await using platform = await startPlatform(settings, { slots: SLOTS, reserve });
  await using quiet = await startCreateClient("quiet client");
  await using loud = await startCreateClient("backlog client");
  const { url, apiKey, otherKey } = platform;
  const replay = async (requests = quick ? 40 : 120) => {
    const startMicros = nowMicros() + HEAD_START_MICROS;
    const order: ReplayOrder = {
      url,
      apiKey,
      startMicros,
      everyMicros: EVERY_MICROS,
      requests,
      tokens: TOKENS,
    };
    return quiet.call<ReplayMeasured>("replay", order);
  };
  // Warms up.
  await replay(5);
  const rows: object[] = [];
  if (reserve > 0) {
    say(`FAIR with a reserve of ${reserve}, alone`);
    rows.push({ reserve, backlog: 0, ...(await replay()) });
  }
  const order: QueueOrder = { url, apiKey: otherKey, creates: BACKLOG, options: BACKLOG_OPTIONS };
  const backlog = await loud.call<number>("queue", order);
  say(`FAIR with a reserve of ${reserve}, beside ${backlog} queued generations`);
  rows.push({ reserve, backlog, ...(await replay()) });
  return rows;
}
