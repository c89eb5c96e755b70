import { readFile } from "node:fs/promises";

/** One process that has a part in what is measured. */
export interface MeasuredProcess {
  /** `delivery`, `nats-server`, `redis` … */
  readonly role: string;
  readonly pid: number;
}

export interface Usage {
  /** CPU time since the process began, user and system, in microseconds. Steps of 10 ms. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

export type UsageByRole = Readonly<Record<string, Usage>>;

/** Linux counts CPU time for `/proc` in hundredths of a second on every architecture that Node runs on. */
const MICROS_PER_TICK = 10_000;
const UTIME = 11;
const STIME = 12;

/** CPU and memory of each process so far: read from `/proc`, so it is empty on systems without one. */
export async function readUsage(processes: readonly MeasuredProcess[]): Promise<UsageByRole> {
  const entries = await Promise.all(
    processes.map(async ({ role, pid }): Promise<[string, Usage] | undefined> => {
      try {
        const stat = await readFile(`/proc/${pid}/stat`, "utf8");
        const status = await readFile(`/proc/${pid}/status`, "utf8");
        // The second field is the name in brackets, which may hold blanks.
        const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const cpuMicros = (Number(fields[UTIME]) + Number(fields[STIME])) * MICROS_PER_TICK;
        const rssBytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1_024;
        return [role, { cpuMicros, rssBytes }];
      } catch {
        return undefined;
      }
    }),
  );
  return Object.fromEntries(entries.filter((entry) => entry !== undefined));
}

/** CPU microseconds by role between two readings. */
export function cpuBetween(before: UsageByRole, after: UsageByRole): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([role, { cpuMicros }]) => [role, cpuMicros - (before[role]?.cpuMicros ?? 0)]),
  );
}
