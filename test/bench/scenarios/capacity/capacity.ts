import { createFileStore } from "@reprise/archive";
import { join } from "node:path";
import { connectBroker } from "@reprise/log";
import { createTempDir } from "@reprise/testkit";
import { startChild } from "../../children/child.ts";
import { startLoadClient } from "../../load/load-client.ts";
import { startWholePlatform } from "../../targets/reprise/whole-platform.ts";
import { untilArchived } from "../audit/until-archived.ts";
import type { RunContext } from "../run-context.ts";
import { measureCeiling, measureSubject, type StreamCeiling } from "./broker-costs.ts";
import { type DiskUse, measureDisk } from "./disk.ts";
import {
  type Costs,
  type Driver,
  DRIVERS,
  fitCosts,
  LEAST_MICROS,
  type Phase,
  type PhaseUsage,
  predict,
} from "./fit-costs.ts";
import { type HeldOut, measureHeldOut } from "./held-out.ts";
import {
  measureChurn,
  measureIdle,
  measureReaders,
  measureStreams,
  type StreamLoad,
  type StreamPhase,
} from "./phases.ts";

/** Of one process of a role. */
export interface RoleCosts {
  readonly cpuMicros: Costs;
  readonly readBytes: Costs;
  readonly writtenBytes: Costs;
  /** Resident under load, with 100 generations. */
  readonly rssBytes: number;
  /** For each open generation; of nats-server and Redis resident, of the others live in the heap. */
  readonly bytesPerGeneration: number;
  /** The phase that the fitted CPU is furthest from, and how far: 1 is no error. */
  readonly worst: { readonly phase: string; readonly factor: number };
}

export interface CapacityResult {
  readonly scenario: "CAPACITY";
  readonly roles: Readonly<Record<string, RoleCosts>>;
  readonly bytesPerReader: { readonly heapBytes: number };
  readonly bytesPerSubject: number;
  readonly ceilings: readonly StreamCeiling[];
  readonly disk: DiskUse;
  readonly phases: readonly Phase[];
  readonly heldOut: HeldOut;
}

const LOADS: readonly StreamLoad[] = [
  { name: "100 generations", generations: 100, tokensPerSecond: 20, readers: 1 },
  { name: "4 readers each", generations: 100, tokensPerSecond: 20, readers: 4 },
  { name: "500 generations", generations: 500, tokensPerSecond: 4, readers: 1 },
];

/** CAPACITY: what a second, an event, a delivery and a generation cost each process, and what they leave on disk. Reprise only. */
export async function runCapacity({ settings, quick, signal, say }: RunContext): Promise<CapacityResult> {
  say("CAPACITY: the broker alone");
  const ceilings: StreamCeiling[] = [];
  for (const replicas of [1, 3] as const)
    ceilings.push(await measureCeiling(settings.natsServer, replicas, quick ? 3 : 6, signal));
  const bytesPerSubject = await measureSubject(settings.natsServer, quick ? 50_000 : 200_000, signal);

  await using dir = await createTempDir("bench-capacity");
  await using platform = await startWholePlatform(settings, dir.path);
  await using broker = await connectBroker({ url: platform.broker.urlFor("admin"), name: "bench-capacity" });
  await using load = await startLoadClient();
  await using churnClient = await startChild({
    name: "churn client",
    script: new URL("../../load/churn-client.ts", import.meta.url),
  });
  const world = { platform, broker, load, churnClient, signal };
  const store = createFileStore(join(platform.auditDir, "audit"));
  const settled = () => untilArchived({ broker, store, name: "reprise" }, signal);
  // The audit log commits every 5 s: a phase has whole commits.
  const seconds = quick ? 5 : 10;

  say("CAPACITY: whole generations, for what they leave on disk");
  const shape = { generations: quick ? 40 : 100, tokens: 400, tokensPerSecond: 50 };
  const disk = await measureDisk(world, shape);
  say("CAPACITY: idle");
  const phases: Phase[] = [await measureIdle(world, seconds)];
  const streams: StreamPhase[] = [];
  for (const each of LOADS) {
    say(`CAPACITY: ${each.name}`);
    await settled();
    streams.push(await measureStreams(world, each, seconds));
  }
  say("CAPACITY: short generations");
  const churn = await measureChurn(world, quick ? 3 : 8, settled);
  phases.push(...streams, churn);
  say("CAPACITY: a mixed load, which the costs are not fitted to");
  const heldOut = await measureHeldOut(world, 2 * seconds, churn.drivers.events / churn.drivers.generations);
  say("CAPACITY: silent readers");
  const bytesPerReader = await measureReaders(world, quick ? 500 : 2_000);

  const roles = platform.processes.map(({ role }): [string, RoleCosts] => [
    role,
    toCosts(role, phases, streams),
  ]);
  return {
    scenario: "CAPACITY",
    roles: Object.fromEntries(roles),
    bytesPerReader,
    bytesPerSubject,
    ceilings,
    disk,
    phases,
    heldOut,
  };
}

/** Only delivery does something for each reader. */
function driversOf(role: string): readonly Driver[] {
  return DRIVERS.filter((driver) => driver !== "deliveries" || role === "delivery");
}

function toCosts(role: string, phases: readonly Phase[], streams: readonly StreamPhase[]): RoleCosts {
  const fit = (figure: keyof PhaseUsage) =>
    fitCosts(phases, ({ usage }) => usage[role]?.[figure] ?? 0, driversOf(role));
  const cpuMicros = fit("cpuMicros");
  const counted = phases.filter(({ usage }) => (usage[role]?.cpuMicros ?? 0) >= LEAST_MICROS);
  const factors = counted.map(({ name, drivers, usage }) => {
    const [measured, said] = [usage[role]?.cpuMicros ?? 0, predict(cpuMicros, drivers)];
    return { phase: name, factor: Math.max(measured, said) / Math.max(1, Math.min(measured, said)) };
  });
  const [first] = streams;
  const many = streams.at(-1)!;
  return {
    cpuMicros,
    readBytes: fit("readBytes"),
    writtenBytes: fit("writtenBytes"),
    rssBytes: first?.rssBytes[role] ?? 0,
    bytesPerGeneration: Math.max(0, many.heapPerGeneration[role] ?? many.rssPerGeneration[role] ?? 0),
    worst: factors.reduce((one, other) => (other.factor > one.factor ? other : one), {
      phase: "",
      factor: 1,
    }),
  };
}
