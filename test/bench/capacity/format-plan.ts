import { formatTable } from "../report/table.ts";
import type { CapacityPlan } from "./plan-capacity.ts";

/** A plan for people. */
export function formatPlan({
  demand,
  deployment,
  load,
  roles,
  shards,
  shardReasons,
  disks,
}: CapacityPlan): string {
  const { generations, readers, tokensPerSecond, tokens, retentionHours, moderated } = demand;
  const { replicas, utilisation, coreSpeed } = deployment;
  const sum = (figure: (role: CapacityPlan["roles"][number]) => number) =>
    roles.reduce((total, role) => total + figure(role), 0);
  const rows = roles.map(({ role, cores, processes, memoryBytes, readBytes, writtenBytes }) => [
    role,
    cores.toFixed(2),
    count(processes),
    bytes(memoryBytes),
    `${bytes(readBytes)}/s`,
    `${bytes(writtenBytes)}/s`,
  ]);
  const total = [
    "all",
    sum(({ cores }) => cores).toFixed(2),
    count(sum(({ processes }) => processes)),
    bytes(sum(({ memoryBytes }) => memoryBytes)),
    "",
    "",
  ];
  const diskRows = disks.map(({ what, bytesPerMillionTokens, keptDays, copies, bytes: kept }) => [
    what,
    bytes(bytesPerMillionTokens),
    `${round(keptDays)} days`,
    count(copies),
    bytes(kept),
  ]);
  return [
    `${count(generations)} generations at a time, ${readers} reader(s) each, ${tokensPerSecond} tokens/s for ${tokens} tokens, ${percent(moderated)} moderated; the live log is kept for ${retentionHours} h`,
    `  ${count(load.tokens)} tokens/s, ${count(load.events)} events/s, ${count(load.deliveries)} deliveries/s, ${count(load.creates)} creates/s, ${count(load.checkpoints)} checkpoints/s, ${count(load.verdicts)} verdicts/s, ${count(load.keptGenerations)} generations kept`,
    "",
    `Processes, each core used to ${percent(utilisation)} at most, of a core ${coreSpeed} times as fast as the table's. Add one of each, so that one may fail:`,
    formatTable(["", "cores", "processes", "memory", "read", "written"], [...rows, total]),
    "",
    `${count(shards)} shards, ${replicas} replica(s):`,
    formatTable(
      ["", "shards"],
      shardReasons.map(({ why, shards: least }) => [why, count(least)]),
    ),
    "",
    "Disk:",
    formatTable(["", "per million tokens", "kept", "copies", "in all"], diskRows),
  ].join("\n");
}

export function count(value: number): string {
  return Math.ceil(value - 1e-9).toLocaleString("en-US");
}

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** Three digits, in powers of 1,000. */
export function bytes(value: number): string {
  const power = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${round(value / 1_000 ** power)} ${UNITS[power]}`;
}

/** Three digits. */
export function round(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 3 });
}

export function percent(share: number): string {
  return `${round(100 * share)} %`;
}
