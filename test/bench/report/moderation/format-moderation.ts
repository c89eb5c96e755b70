import type { Samples } from "../../measure/samples.ts";
import type { ModerationResult, VariantName } from "../../scenarios/moderation/moderation.ts";
import type { RetractLagResult } from "../../scenarios/moderation/retract-lag.ts";
import type { RulesResult } from "../../scenarios/moderation/rules.ts";
import { byRole, formatTable, ms } from "../table.ts";

const NAMES: Readonly<Record<VariantName, string>> = {
  off: "off, no service",
  idle: "off, service runs",
  observe: "observe",
  retract: "retract",
  gate: "gate",
  "gate-words": "gate, whole words",
};

export function formatModeration({ shape, rows, rounds }: ModerationResult): string {
  const { streams, tokensPerSecond, readersPerStream } = shape;
  const off = rows.find(({ variant }) => variant === "off")?.latency;
  const cells = rows.map(({ variant, latency, held, cpuPerToken, clientLoad }) => {
    const own = rounds.flat().filter((row) => row.variant === variant);
    return [
      NAMES[variant],
      ...[latency.p50, latency.p90, latency.p99, latency.max].map(ms),
      ms(Math.max(...own.map((row) => row.latency.p99))),
      off && variant !== "off" ? ms(latency.p99 - off.p99) : "",
      held ? `${held.mean.toFixed(2)} / ${held.p99}` : "",
      String(own.reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0)),
      byRole(cpuPerToken),
      clientLoad.toFixed(2),
    ];
  });
  const title = `MODERATION: ${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers of clean text: ms from due time to reader, best of ${rounds.length}`;
  const header = [
    "",
    "p50",
    "p90",
    "p99",
    "max",
    "worst p99",
    "added p99",
    "held mean / p99",
    "wrong",
    "CPU µs/token by process",
    "client",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

export function formatRetractLag({ planted, lagMs, characters }: RetractLagResult): string {
  const quantiles = ({ mean, p50, p99, max }: Samples) =>
    [mean, p50, p99, max].map((value) => value.toFixed(2));
  const title = `RETRACT-LAG: from the event that completes a match to the one that withdraws it, ${lagMs.count} of ${planted} matches`;
  return `${title}\n${formatTable(
    ["", "mean", "p50", "p99", "max"],
    [
      ["milliseconds", ...quantiles(lagMs)],
      ["characters of text between", ...quantiles(characters)],
    ],
  )}`;
}

export function formatRules({ rows }: RulesResult): string {
  const cells = rows.map(({ rules, chunksPerSecond, pending }) => [
    rules,
    (chunksPerSecond / 1e6).toFixed(2),
    pending.mean.toFixed(2),
    String(pending.p99),
  ]);
  const title = "RULES: chunks of some 4 characters that one core judges";
  return `${title}\n${formatTable(["", "million/s", "pending characters, mean", "p99"], cells)}`;
}
