/** What a process's work grows with. */
export interface Drivers {
  readonly seconds: number;
  /** Events stored. */
  readonly events: number;
  /** Events times their readers. */
  readonly deliveries: number;
  /** Generations created and ended. */
  readonly generations: number;
  /** Generations that are open, times seconds. */
  readonly openSeconds: number;
}

export interface PhaseUsage {
  readonly cpuMicros: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
}

/** A stretch of time with one kind of load, and what each process used in it. */
export interface Phase {
  readonly name: string;
  readonly drivers: Drivers;
  readonly usage: Readonly<Record<string, PhaseUsage>>;
}

export type Driver = keyof Drivers;
/** What one unit of each driver costs. */
export type Costs = Readonly<Record<Driver, number>>;

export const DRIVERS: readonly Driver[] = ["seconds", "events", "deliveries", "generations", "openSeconds"];
/** Less than so many of the system's ticks of 10 ms is no measure of a fit. */
export const LEAST_MICROS = 100_000;
const ROUNDS = 20_000;

/**
 * The costs, none below 0, with which the phases come out best: least squares of errors relative to what was measured, so that a phase
 * of small figures counts as much as one of large figures. Coordinate descent: with five unknowns it needs no library, and a cost that
 * would be negative stays 0.
 * @param free the drivers that may cost anything
 */
export function fitCosts(
  phases: readonly Phase[],
  measuredOf: (phase: Phase) => number,
  free: readonly Driver[] = DRIVERS,
): Costs {
  const rows = phases.map((phase) => {
    const weight = 1 / Math.max(1, measuredOf(phase));
    return {
      terms: DRIVERS.map((driver) => (free.includes(driver) ? phase.drivers[driver] * weight : 0)),
      wanted: measuredOf(phase) * weight,
    };
  });
  const costs = DRIVERS.map(() => 0);
  const squares = DRIVERS.map((_, at) => rows.reduce((sum, { terms }) => sum + terms[at]! ** 2, 0));
  const residuals = rows.map(({ wanted }) => wanted);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, square] of squares.entries()) {
      if (square === 0) continue;
      const slope = rows.reduce((sum, { terms }, row) => sum + terms[at]! * residuals[row]!, 0);
      const next = Math.max(0, costs[at]! + slope / square);
      for (const [row, { terms }] of rows.entries()) residuals[row]! -= terms[at]! * (next - costs[at]!);
      costs[at] = next;
    }
  }
  return Object.fromEntries(DRIVERS.map((driver, at) => [driver, costs[at]!])) as Record<Driver, number>;
}

/** What the costs say of a load. */
export function predict(costs: Costs, drivers: Drivers): number {
  return DRIVERS.reduce((sum, driver) => sum + costs[driver] * drivers[driver], 0);
}
