import { join } from "node:path";
import { createFileStore } from "@reprise/archive";
import { connectBroker } from "@reprise/broker";
import { createTempDir } from "@reprise/testkit";
import { startChild } from "../children/child.ts";
import type { ChurnMeasured, ChurnOrder } from "../load/churn-client.ts";
import { nowMicros } from "../measure/clock.ts";
import { cpuBetween, readUsage } from "../measure/process-usage.ts";
import { startPlatform } from "../targets/reprise/platform.ts";
import { untilArchived } from "./audit/until-archived.ts";
import type { RunContext } from "./run-context.ts";

export interface ChurnRow extends ChurnMeasured {
  readonly audit: boolean;
  readonly generationsPerSecond: number;
  /** CPU microseconds per generation, by process. */
  readonly cpuPerGeneration: Readonly<Record<string, number>>;
}

export interface ChurnResult {
  readonly scenario: "CHURN";
  readonly atOnce: number;
  /** Of each generation. */
  readonly tokens: number;
  /** Without the audit log and with it, the best round each: the one with the least CPU. */
  readonly rows: readonly ChurnRow[];
  readonly rounds: readonly (readonly ChurnRow[])[];
}

const AT_ONCE = 64;
const TOKENS = 5;
const VARIANTS = [false, true] as const;

/** CHURN: short generations, created, streamed and ended as fast as the platform can, without the audit log and with it. Reprise only. */
export async function runChurn(context: RunContext): Promise<ChurnResult> {
  const { quick, say, signal } = context;
  const rounds: ChurnRow[][] = [];
  for (let round = 1; round <= (quick ? 1 : 2); round++) {
    const rows: ChurnRow[] = [];
    for (const audit of VARIANTS) {
      say(`CHURN, audit log ${audit ? "on" : "off"}, round ${round}`);
      signal.throwIfAborted();
      rows.push(await runOne(audit, context));
    }
    rounds.push(rows);
  }
  const rows = VARIANTS.map((_, index) => rounds.map((each) => each[index]!).reduce(cheaper));
  return { scenario: "CHURN", atOnce: AT_ONCE, tokens: TOKENS, rows, rounds };
}

/** What is archived later counts too: the audit log is waited for before and after. */
async function runOne(audit: boolean, { settings, quick, signal }: RunContext): Promise<ChurnRow> {
  await using dir = await createTempDir("bench-churn");
  await using platform = await startPlatform(settings, { auditDir: audit ? dir.path : undefined });
  await using client = await startChild({
    name: "churn client",
    script: new URL("../load/churn-client.ts", import.meta.url),
  });
  const { url, apiKey, processes } = platform;
  const churn = (seconds: number) =>
    client.call<ChurnMeasured>("churn", {
      url,
      apiKey,
      atOnce: AT_ONCE,
      tokens: TOKENS,
      untilMicros: nowMicros() + seconds * 1e6,
    } satisfies ChurnOrder);
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
  const cpu = cpuBetween(before, await readUsage(processes));
  const { count } = measured.whole;
  const perGeneration = Object.entries(cpu).map(([role, micros]): [string, number] => [role, micros / count]);
  return {
    ...measured,
    audit,
    generationsPerSecond: count / seconds,
    cpuPerGeneration: Object.fromEntries(perGeneration),
  };
}

function cheaper(one: ChurnRow, other: ChurnRow): ChurnRow {
  return servicesCpu(other) < servicesCpu(one) ? other : one;
}

/** CPU microseconds per generation of all services, which `npm start` has in one process, beside nats-server. */
export function servicesCpu({ cpuPerGeneration }: ChurnRow): number {
  const { "nats-server": _, ...services } = cpuPerGeneration;
  return Object.values(services).reduce((sum, micros) => sum + micros, 0);
}
