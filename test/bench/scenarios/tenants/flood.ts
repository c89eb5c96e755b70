import { startChild } from "../../children/child.ts";
import type { FloodMeasured, FloodOrder } from "../../load/flood-client.ts";
import type { TraceMeasured, TraceOrder } from "../../load/trace-client.ts";
import { nowMicros } from "../../measure/clock.ts";
import { startPlatform } from "../../targets/reprise/platform.ts";
import type { RunContext } from "../run-context.ts";

export interface FloodRow {
  /** Creates of another tenant that are under way at a time; 0 for the undisturbed row. */
  readonly senders: number;
  readonly quiet: TraceMeasured;
  readonly flood: FloodMeasured;
}

export interface FloodResult {
  readonly scenario: "FLOOD";
  readonly requests: number;
  readonly bodyBytes: number;
  readonly rows: readonly FloodRow[];
}

const SENDERS = [0, 60, 200];
const BODY_BYTES = 1_000_000;
const EVERY_MICROS = 50_000;
const TOKENS = 50;
const HEAD_START_MICROS = 1_000_000;

/** FLOOD: one tenant's creates and streams, alone and beside another one's creates of 1 MB. */
export async function runFlood({ settings, say, quick }: RunContext): Promise<FloodResult> {
  const requests = quick ? 100 : 300;
  const rows: FloodRow[] = [];
  await using platform = await startPlatform(settings);
  await using quiet = await startChild({
    name: "quiet client",
    script: new URL("../../load/trace-client.ts", import.meta.url),
  });
  await using loud = await startChild({
    name: "flood client",
    script: new URL("../../load/flood-client.ts", import.meta.url),
  });
  const { url, apiKey, otherKey } = platform;
  const arrivals = Array.from({ length: requests }, (_, i) => ({
    atMicros: i * EVERY_MICROS,
    inputTokens: 20,
    outputTokens: TOKENS,
  }));
  // What is slow only because it runs for the first time is in no row.
  await quiet.call("replay", { url, apiKey, startMicros: nowMicros(), arrivals: arrivals.slice(0, 20) });
  for (const senders of SENDERS) {
    say(`FLOOD ${senders}`);
    const startMicros = nowMicros() + HEAD_START_MICROS;
    const order: TraceOrder = { url, apiKey, startMicros, arrivals };
    const untilMicros = startMicros + requests * EVERY_MICROS;
    const disturbance: FloodOrder = { url, apiKey: otherKey, senders, bodyBytes: BODY_BYTES, untilMicros };
    const [measured, flood] = await Promise.all([
      quiet.call<TraceMeasured>("replay", order),
      loud.call<FloodMeasured>("flood", disturbance),
    ]);
    rows.push({ senders, quiet: measured, flood });
  }
  return { scenario: "FLOOD", requests, bodyBytes: BODY_BYTES, rows };
}
