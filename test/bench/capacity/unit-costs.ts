import { readFileSync } from "node:fs";
import type { CapacityResult } from "../scenarios/capacity/capacity.ts";
import type { HeldOut } from "../scenarios/capacity/held-out.ts";
import type { MachineFacts } from "../measure/machine.ts";

/** The table that all of capacity planning reads: what was measured, when and on what. */
export interface UnitCosts {
  /** Of the bench's CAPACITY. */
  readonly capacity: Omit<CapacityResult, "scenario" | "phases" | "heldOut"> & {
    /** A run from before there was one has none. */
    readonly heldOut?: HeldOut & { readonly source: Source };
    readonly source: Source;
  };
  /** Of the bench's ANALYTICS. */
  readonly analytics: { readonly bytesPerRow: number; readonly source: Source };
  readonly benchmarks: readonly BenchmarkCost[];
}

/** What says of one process what a load takes. */
export interface FittedCosts {
  readonly capacity: Pick<UnitCosts["capacity"], "roles" | "bytesPerSubject" | "disk">;
  readonly benchmarks: readonly BenchmarkCost[];
}

interface Source {
  readonly measuredAt: string;
  readonly machine: MachineFacts;
}

/** A figure of docs/benchmarks.md, with the words by which it is found there. */
export interface BenchmarkCost {
  readonly name:
    | "idleReaderKilobytes"
    | "archiveEventsPerSecond"
    | "analyticsEventsPerCoreSecond"
    | "workerEventsPerSecond";
  readonly what: string;
  readonly value: number;
  readonly text: string;
}

export const UNIT_COSTS_FILE = new URL("./unit-costs.json", import.meta.url);

export function readUnitCosts(): UnitCosts {
  return JSON.parse(readFileSync(UNIT_COSTS_FILE, "utf8")) as UnitCosts;
}

export function benchmarkCost(
  { benchmarks }: Pick<UnitCosts, "benchmarks">,
  name: BenchmarkCost["name"],
): number {
  const found = benchmarks.find((each) => each.name === name);
  if (!found) throw new Error(`${UNIT_COSTS_FILE.pathname} has no ${name}.`);
  return found.value;
}
