import { LEAST_MICROS, predict } from "../scenarios/capacity/fit-costs.ts";
import type { HeldOut } from "../scenarios/capacity/held-out.ts";
import { leftOnDisk, memoryOf } from "./plan-capacity.ts";
import type { FittedCosts } from "./unit-costs.ts";

export interface Comparison {
  readonly kind: "CPU" | "memory" | "disk";
  /** A role, or what is on disk. */
  readonly what: string;
  /** Microseconds or bytes. */
  readonly predicted: number;
  readonly measured: number;
}

/** Subjects of a generation that is kept and moderated: as `keptSubjects` counts them without the markers of checkpoints, which come with the retention's end. */
const SUBJECTS = 4;
/** Less is a file or two of a stream. */
const LEAST_BYTES = 100_000;

/** What the calculator says of a load that its table was not made from, beside what that took. What took too little to be measured is left out. */
export function compareHeldOut(costs: FittedCosts, heldOut: HeldOut): Comparison[] {
  const { phase, openGenerations, readers, keptGenerations, rssBytes, stored } = heldOut;
  const roles = Object.entries(costs.capacity.roles);
  const cpu = roles.map(([role, { cpuMicros }]): Comparison => ({
    kind: "CPU",
    what: role,
    predicted: predict(cpuMicros, phase.drivers),
    measured: phase.usage[role]?.cpuMicros ?? 0,
  }));
  const subjects = SUBJECTS * keptGenerations;
  const memory = roles.map(([role]): Comparison => ({
    kind: "memory",
    what: role,
    predicted: memoryOf(role, costs, { processes: 1, openGenerations, readers, subjects }),
    measured: rssBytes[role] ?? 0,
  }));
  const left = leftOnDisk(costs, stored);
  const disk = Object.entries(left).map(([what, predicted]): Comparison => ({
    kind: "disk",
    what: what === "commits" ? "analytics, commits" : what,
    predicted,
    measured: measuredOnDisk(what, stored),
  }));
  return [
    ...cpu.filter(({ measured }) => measured >= LEAST_MICROS),
    ...memory,
    ...disk.filter(({ measured }) => measured >= LEAST_BYTES),
  ];
}

function measuredOnDisk(
  what: string,
  { streamBytes, archiveBytes, analyticsBytes }: HeldOut["stored"],
): number {
  if (what === "archive") return archiveBytes;
  return what === "commits" ? analyticsBytes : (streamBytes[what] ?? 0);
}
