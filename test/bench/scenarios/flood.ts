import type { FloodMeasured, FloodOrder, ReplayMeasured, ReplayOrder } from "../load/create-client.ts";
import { nowMicros } from "../measure/clock.ts";
import { startCreateClient, startPlatform } from "../targets/reprise/platform.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

/** Creates of the other tenant that are under way at a time. */
const SENDERS = [0, 60, 200];
const BODY_BYTES = 1_000_000;
const EVERY_MICROS = 50_000;
const TOKENS = 50;
const HEAD_START_MICROS = 1_000_000;

/** FLOOD: one tenant's creates and streams, alone and beside another tenant's creates of 1 MB. */
export async function runFlood({ settings, say, quick }: RunContext): Promise<ScenarioResult> {
  const rows: object[] = [];
  await using platform = await startPlatform(settings);
  await using quiet = await startCreateClient("quiet client");
  await using loud = await startCreateClient("flood client");
  const { url, apiKey, otherKey } = platform;
  const orderAt = (startMicros: number, requests: number): ReplayOrder => ({
    url,
    apiKey,
    startMicros,
    everyMicros: EVERY_MICROS,
    requests,
    tokens: TOKENS,
  });
  // Warms up.
  await quiet.call("replay", orderAt(nowMicros(), 20));
  for (const senders of SENDERS) {
    say(`FLOOD ${senders}`);
    const startMicros = nowMicros() + HEAD_START_MICROS;
    const order = orderAt(startMicros, quick ? 100 : 300);
    const untilMicros = startMicros + order.requests * EVERY_MICROS;
    const disturbance: FloodOrder = { url, apiKey: otherKey, senders, bodyBytes: BODY_BYTES, untilMicros };
    const [measured, flood] = await Promise.all([
      quiet.call<ReplayMeasured>("replay", order),
      loud.call<FloodMeasured>("flood", disturbance),
    ]);
    rows.push({ senders, ...measured, floodByStatus: flood });
  }
  return { scenario: "FLOOD", what: `20 creates a second beside creates of ${BODY_BYTES} bytes`, rows };
}
