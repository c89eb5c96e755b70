import { join } from "node:path";
import { createFileStore } from "@reprise/archive";
import { connectBroker } from "@reprise/broker";
import { createTempDir } from "@reprise/testkit";
import type { ChurnMeasured, ChurnOrder } from "../load/create-client.ts";
import { nowMicros } from "../measure/clock.ts";
import { cpuBetween, readUsage } from "../measure/process-usage.ts";
import { startCreateClient, startPlatform } from "../targets/reprise/platform.ts";
import { untilArchived } from "./archive.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

const AT_ONCE = 64;
const TOKENS = 5;

/** CHURN: short generations, created, streamed and ended as fast as the platform can, without the audit log and with it. Reprise only. */
export async function runChurn(context: RunContext): Promise<ScenarioResult> {
  const { quick, say, signal } = context;
  const rows: object[] = [];
  for (let round = 1; round <= (quick ? 1 : 2); round++)
    for (const audit of [false, true]) {
      say(`CHURN, audit log ${audit ? "on" : "off"}, round ${round}`);
      signal.throwIfAborted();
      rows.push({ round, audit, ...(await runOne(audit, context)) });
    }
  return { scenario: "CHURN", what: `generations of ${TOKENS} tokens, ${AT_ONCE} at once`, rows };
}

/** Counts the CPU for what is archived later too: it waits for the audit log before and after. */
async function runOne(audit: boolean, { settings, quick, signal }: RunContext): Promise<object> {
  await using dir = await createTempDir("bench-churn");
  await using platform = await startPlatform(settings, { auditDir: audit ? dir.path : undefined });
  await using client = await startCreateClient("churn client");
  const { url, apiKey, processes } = platform;
  const churn = (seconds: number) => {
    const untilMicros = nowMicros() + seconds * 1e6;
    const order: ChurnOrder = { url, apiKey, atOnce: AT_ONCE, tokens: TOKENS, untilMicros };
    return client.call<ChurnMeasured>("churn", order);
  };
  const settle = async () => {
    if (!audit) return;
    await using broker = await connectBroker({ url: platform.broker.urlFor("admin"), name: "bench-churn" });
    await untilArchived({ broker, store: createFileStore(join(dir.path, "audit")), name: "reprise" }, signal);
  };
  await churn(quick ? 2 : 3);
  await settle();
  const before = await readUsage(processes);
  const startMicros = nowMicros();
  const measured = await churn(quick ? 3 : 5);
  const seconds = (nowMicros() - startMicros) / 1e6;
  await settle();
  const cpu = Object.entries(cpuBetween(before, await readUsage(processes)));
  const { count } = measured.wholeMs;
  return {
    ...measured,
    generationsPerSecond: count / seconds,
    cpuPerGeneration: Object.fromEntries(cpu.map(([role, micros]) => [role, micros / count])),
  };
}
