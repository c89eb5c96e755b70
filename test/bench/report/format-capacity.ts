import { compareHeldOut } from "../capacity/compare-held-out.ts";
import { readUnitCosts } from "../capacity/unit-costs.ts";
import type { CapacityResult } from "../scenarios/capacity/capacity.ts";
import { DRIVERS } from "../scenarios/capacity/fit-costs.ts";
import { formatTable } from "./table.ts";

const MIB = 1_024 * 1_024;

export function formatCapacity(result: CapacityResult): string {
  const { roles, bytesPerReader, bytesPerSubject, ceilings, disk } = result;
  const cells = Object.entries(roles).map(([role, costs]) => [
    role,
    ...DRIVERS.map((driver) => costs.cpuMicros[driver].toFixed(1)),
    `x${costs.worst.factor.toFixed(2)} (${costs.worst.phase})`,
    (costs.rssBytes / MIB).toFixed(0),
    (costs.bytesPerGeneration / 1_024).toFixed(1),
  ]);
  const header = [
    "CPU µs per",
    "second",
    "event",
    "delivery",
    "generation",
    "open second",
    "fit",
    "RSS MB",
    "KB/generation",
  ];
  const perToken = (bytes: number) => (bytes / disk.generations / disk.tokensPerGeneration).toFixed(1);
  return [
    "CAPACITY: what each process needs",
    formatTable(header, cells),
    `  a silent reader: ${(bytesPerReader.heapBytes / 1_024).toFixed(1)} KB alive; a subject: ${bytesPerSubject.toFixed(0)} bytes`,
    ...ceilings.map(
      ({ replicas, eventsPerSecond, serversMicros }) =>
        `  one stream, ${replicas} replicas: ${eventsPerSecond.toFixed(0)} events/s, ${serversMicros.toFixed(1)} µs of all servers for each`,
    ),
    `  on disk, bytes per token: ${Object.entries(disk.streamBytes)
      .map(([stream, bytes]) => `${stream} ${perToken(bytes)}`)
      .join(", ")}, archive ${perToken(disk.archiveBytes)}, analytics ${perToken(disk.analyticsBytes)}`,
    "  a mixed load, which the costs are not fitted to: predicted and measured",
    formatHeldOut(result),
  ].join("\n");
}

function formatHeldOut(capacity: CapacityResult): string {
  const { benchmarks } = readUnitCosts();
  const rows = compareHeldOut({ capacity, benchmarks }, capacity.heldOut).map((one) => {
    const { kind, what, predicted, measured } = one;
    const value = (micros: number) =>
      kind === "CPU" ? `${(micros / 1e6).toFixed(2)} s` : `${(micros / MIB).toFixed(1)} MB`;
    return [`${kind} ${what}`, value(predicted), value(measured), `x${(predicted / measured).toFixed(2)}`];
  });
  return formatTable(["", "predicted", "measured", "ratio"], rows);
}
