import type { ScenarioResult } from "../scenarios/all.ts";
import type { FanOutResult } from "../scenarios/fan-out.ts";
import type { TraceResult } from "../scenarios/trace/trace.ts";
import { formatAnalytics, formatObserved } from "./format-analytics.ts";
import { formatArchive, formatAudit } from "./format-audit.ts";
import { formatChurn } from "./format-churn.ts";
import { formatFair } from "./tenants/format-fair.ts";
import { formatFlood } from "./tenants/format-flood.ts";
import { formatLimits } from "./tenants/format-limits.ts";
import { formatFirst } from "./format-first.ts";
import { formatModeration, formatRetractLag, formatRules } from "./moderation/format-moderation.ts";
import { formatProtocols } from "./protocols.ts";
import { byRole, formatTable, ms } from "./table.ts";

const MIB = 1_024 * 1_024;

/** A scenario's result for people. */
export function formatResult(result: ScenarioResult): string {
  switch (result.scenario) {
    case "S1":
    case "S2":
      return formatFanOut(result);
    case "S3": {
      const rows = result.rows.map(({ target, caughtUp }) => [
        target,
        ...(caughtUp
          ? [caughtUp.p50, caughtUp.p90, caughtUp.p99, caughtUp.max].map(ms)
          : ["n/a", "", "", ""]),
      ]);
      const title = `S3: ${result.readers} readers at once, ${result.events} events behind: ms until caught up`;
      return `${title}\n${formatTable(["", "p50", "p90", "p99", "max"], rows)}`;
    }
    case "FIRST":
      return formatFirst(result);
    case "IDLE": {
      const kb = (bytes: number | undefined) => (bytes === undefined ? "n/a" : (bytes / 1_024).toFixed(1));
      const rows = result.rows.map((row) => [
        row.target,
        kb(row.rssBytesPerReader),
        kb(row.heapBytesPerReader),
      ]);
      return `IDLE: ${result.readers} silent readers: KB each\n${formatTable(["", "RSS", "heap"], rows)}`;
    }
    case "APPEND": {
      const rate = Math.round(result.eventsPerSecond).toLocaleString("en");
      return `APPEND: one worker, ${result.generations} generations: ${rate} events/s; CPU µs/event: ${byRole(result.cpuPerEvent)}`;
    }
    case "CHURN":
      return formatChurn(result);
    case "STALLED": {
      const rows = result.rows.map(({ stalled, latency, missing, disordered, growthBytes, cpuPerToken }) => [
        `${stalled} stalled`,
        ms(latency.p50),
        ms(latency.p99),
        String(missing + disordered),
        (growthBytes / MIB).toFixed(1),
        byRole(cpuPerToken),
      ]);
      const title = `STALLED: 1 stream x ${result.tokensPerSecond} tokens/s x ${result.readers} readers, beside others that never read`;
      return `${title}\n${formatTable(["", "p50 ms", "p99 ms", "wrong", "delivery +MB", "CPU µs/token by process"], rows)}`;
    }
    case "SCALE": {
      const rows = result.rows.map(({ generations, totalCpu, cpuPerToken, latency, missing }) => [
        `${generations} generations`,
        totalCpu.toFixed(1),
        ms(latency.p50),
        ms(latency.p99),
        String(missing),
        byRole(cpuPerToken),
      ]);
      const title = `SCALE: ${result.tokensPerSecond} tokens/s over more and more generations: CPU µs per token`;
      return `${title}\n${formatTable(["", "CPU", "p50 ms", "p99 ms", "missing", "by process"], rows)}`;
    }
    case "PROTOCOLS":
      return formatProtocols(result);
    case "MODERATION":
      return formatModeration(result);
    case "RETRACT-LAG":
      return formatRetractLag(result);
    case "RULES":
      return formatRules(result);
    case "AUDIT":
      return formatAudit(result);
    case "ARCHIVE":
      return formatArchive(result);
    case "ANALYTICS":
      return formatAnalytics(result);
    case "OBSERVED":
      return formatObserved(result);
    case "FLOOD":
      return formatFlood(result);
    case "FAIR":
      return formatFair(result);
    case "LIMITS":
      return formatLimits(result);
    case "TRACE":
      return formatTrace(result);
  }
}

function formatFanOut({ scenario, shape, rows, rounds }: FanOutResult): string {
  const { streams, tokensPerSecond, readersPerStream } = shape;
  const title = `${scenario}: ${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers: ms from due time to reader, best of ${rounds.length}`;
  const ownRounds = (name: string) => rounds.flat().filter(({ target }) => target === name);
  const cells = rows.map((row) => [
    row.target,
    ...[row.latency.p50, row.latency.p90, row.latency.p99, row.latency.max].map(ms),
    ms(Math.max(...ownRounds(row.target).map(({ latency }) => latency.p99))),
    String(ownRounds(row.target).reduce((sum, { missing, disordered }) => sum + missing + disordered, 0)),
    row.deliveryCpu.toFixed(1),
    byRole(row.cpuPerToken),
    Object.values(row.rssBytes)
      .map((bytes) => (bytes / MIB).toFixed(0))
      .join("+"),
    row.clientLoad.toFixed(2),
  ]);
  const header = [
    "",
    "p50",
    "p90",
    "p99",
    "max",
    "worst p99",
    "wrong",
    "delivery µs",
    "CPU µs/token by process",
    "RSS MB",
    "client",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

function formatTrace(result: TraceResult): string {
  const { options, requests, tokens, mostAtOnce, ends, timeToFirstToken, interTokenLatency, cpuPerToken } =
    result;
  const quantiles = ({ p50, p90, p99, max }: typeof timeToFirstToken) => [p50, p90, p99, max].map(ms);
  const outcome = Object.entries(ends).map(([end, count]) => `${count} ${end}`);
  return [
    `TRACE ${options.path} at ${options.speed}x: ${requests} requests, ${tokens} tokens, up to ${mostAtOnce} at once; ${outcome.join(", ")}`,
    formatTable(
      ["ms", "p50", "p90", "p99", "max"],
      [
        ["time to first token", ...quantiles(timeToFirstToken)],
        ["between tokens", ...quantiles(interTokenLatency)],
      ],
    ),
    `  CPU µs/token: ${byRole(cpuPerToken)}`,
  ].join("\n");
}
