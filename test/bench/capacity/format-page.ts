import { DRIVERS } from "../scenarios/capacity/fit-costs.ts";
import { countCells, FIRST_SETUP, findBreakingPoints } from "./breaking-points.ts";
import { compareHeldOut } from "./compare-held-out.ts";
import type { PathStudy } from "./compare-paths.ts";
import { bytes, count, formatPlan, percent, round } from "./format-plan.ts";
import type { Demand } from "./load.ts";
import { DEPLOYMENT, planCapacity } from "./plan-capacity.ts";
import type { UnitCosts } from "./unit-costs.ts";

const OF_ANOTHER_RUN =
  "The load was measured by itself, not in the run that the costs are from, while other work kept the two cores busy: processes were behind it, most of all the audit log and analytics, part of whose work came behind the measured time. `npm run bench -- --only CAPACITY` has both in one run.";

/** What docs/operations/capacity.md plans for. */
export const EXAMPLE: Demand = {
  generations: 10_000,
  readers: 1,
  tokensPerSecond: 30,
  tokens: 400,
  retentionHours: 24,
  moderated: 1,
  archiveDays: 365,
  blobMegabytes: 0,
  blobHours: 24,
};
const STAGES = [
  { generations: 10_000, retentionHours: 24, moderated: 1 },
  { generations: 10_000, retentionHours: 1, moderated: 1 },
  { generations: 10_000, retentionHours: 1, moderated: 0 },
  { generations: 100_000, retentionHours: 1, moderated: 1 },
  { generations: 100_000, retentionHours: 1, moderated: 0 },
  { generations: 1_000_000, retentionHours: 1, moderated: 1 },
  { generations: 1_000_000, retentionHours: 1, moderated: 0 },
];
const TITLES = {
  seconds: "idle, each second",
  events: "event",
  deliveries: "delivery",
  generations: "generation",
  openSeconds: "open, each second",
} as const;

/** The generated parts of the page, by the names of their places in it. */
export function formatPage(costs: UnitCosts, study: PathStudy): Readonly<Record<string, string>> {
  return {
    "unit costs": formatUnitCosts(costs),
    plan: `\`\`\`\n${formatPlan(planCapacity(costs, EXAMPLE, DEPLOYMENT))}\n\`\`\``,
    "held out": formatHeldOut(costs),
    disk: formatDisk(costs),
    "breaking points": formatBreakingPoints(costs),
    stages: formatStages(costs),
    simulation: formatStudy(study),
  };
}

/** The page with its generated parts made anew. @throws Error for a part that has no place in it */
export function fillPage(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- ${name} -->\n`, `\n<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`The page has no place for "${name}".`);
    return `${text.slice(0, from + begin.length)}\n${part}\n${text.slice(to)}`;
  }, page);
}

function formatUnitCosts({ capacity, analytics, benchmarks }: UnitCosts): string {
  const { roles, bytesPerReader, bytesPerSubject, ceilings, source } = capacity;
  const { machine, measuredAt } = source;
  const rows = Object.entries(roles).map(([role, costs]) => [
    role,
    ...DRIVERS.map((driver) => round(costs.cpuMicros[driver])),
    bytes(costs.rssBytes),
    bytes(costs.bytesPerGeneration),
    costs.worst.phase === "" ? "" : `×${round(costs.worst.factor)}, ${costs.worst.phase}`,
  ]);
  const of = `CAPACITY, ${measuredAt.slice(0, 10)}, ${machine.commit}`;
  const others = [
    ["alive in delivery's heap for a silent reader", bytes(bytesPerReader.heapBytes), of],
    ["a subject that a stream keeps, in nats-server", bytes(bytesPerSubject), of],
    ...ceilings.map(({ replicas, eventsPerSecond, serversMicros }) => [
      `one stream with ${replicas} replica(s), one worker process that appends without a pause`,
      `${count(eventsPerSecond)} events/s; ${round(serversMicros)} µs of all servers for each`,
      of,
    ]),
    [
      "a row of analytics in Parquet",
      bytes(analytics.bytesPerRow),
      `ANALYTICS, ${analytics.source.measuredAt.slice(0, 10)}, ${analytics.source.machine.commit}`,
    ],
    ...benchmarks.map(({ text, what }) => [what, text, "[benchmarks.md](../benchmarks.md)"]),
  ];
  return [
    `Measured by \`npm run bench -- --only CAPACITY\` on ${machine.cores} cores of ${machine.cpu}, ${measuredAt.slice(0, 10)}, commit ${machine.commit}, nats-server ${/[\d.]+/.exec(machine.natsServer)?.[0]}, Node ${machine.node.slice(1)}; load before it ${round(machine.loadBefore)}.`,
    "",
    markdown(
      [
        "CPU in µs for",
        ...DRIVERS.map((driver) => TITLES[driver]),
        "resident under load",
        "for each open generation",
        "worst fit",
      ],
      rows,
    ),
    "",
    markdown(["other costs", "", "measured by"], others, ["---", "---", "---"]),
  ].join("\n");
}

function formatHeldOut(costs: UnitCosts): string {
  const { heldOut } = costs.capacity;
  if (!heldOut) return "Not measured yet: the run that the table above is from had no such load.";
  const { drivers } = heldOut.phase;
  const { machine, measuredAt } = heldOut.source;
  const rows = compareHeldOut(costs, heldOut).map(({ kind, what, predicted, measured }) => {
    const value = (of: number) => (kind === "CPU" ? `${round(of / 1e6)} s` : bytes(of));
    return [`${kind}, ${what}`, value(predicted), value(measured), `×${round(predicted / measured)}`];
  });
  return [
    `${count(heldOut.openGenerations)} generations, most of them slow, and short ones beside them: ${round(drivers.events / drivers.seconds)} events/s, ${round(drivers.deliveries / drivers.seconds)} deliveries/s and ${round(drivers.generations / drivers.seconds)} creates/s for ${round(drivers.seconds)} s. Measured ${measuredAt.slice(0, 10)}, commit ${machine.commit}; load before it ${round(machine.loadBefore)}.`,
    "",
    markdown(["", "predicted", "measured", "ratio"], rows),
    ...(measuredAt === costs.capacity.source.measuredAt ? [] : ["", OF_ANOTHER_RUN]),
  ].join("\n");
}

function formatDisk(costs: UnitCosts): string {
  const { disk } = costs.capacity;
  const plan = planCapacity(costs, EXAMPLE, { ...DEPLOYMENT, replicas: 1 });
  const rows = plan.disks.map(({ what, bytesPerMillionTokens }) => [what, bytes(bytesPerMillionTokens)]);
  const messages = Object.entries(disk.messages).map(
    ([stream, stored]) => `${stream} ${round(stored / disk.generations)}`,
  );
  return [
    markdown(["one copy", "for a million tokens"], rows),
    "",
    `Of ${count(disk.generations)} generations of ${disk.tokensPerGeneration} tokens at ${disk.tokensPerSecond} tokens/s with one reader each: ${round(disk.events / disk.generations)} events each, and messages each in the streams that there is one of: ${messages.join(", ")}.`,
  ].join("\n");
}

function formatBreakingPoints(costs: UnitCosts): string {
  const rows = findBreakingPoints(costs, EXAMPLE, FIRST_SETUP).map((point) => [
    point.what,
    quantity(point.perGeneration, point.unit),
    quantity(point.limit, point.unit),
    count(Number(point.generations.toPrecision(2))),
    point.remedy,
  ]);
  return markdown(["bound", "for each generation", "limit", "generations at a time", "then"], rows, [
    "---",
    "--:",
    "--:",
    "--:",
    "---",
  ]);
}

function quantity(value: number, unit: string): string {
  if (unit.startsWith("bytes")) return `${bytes(value)}${unit.slice("bytes".length)}`;
  if (unit === "cores" && value < 0.1) return `${round(1e6 * value)} µs/s`;
  return `${round(value)}${unit.startsWith("/") ? "" : " "}${unit}`;
}

function formatStages(costs: UnitCosts): string {
  const rows = STAGES.map((stage) => {
    const demand = { ...EXAMPLE, ...stage };
    const cells = countCells(costs, demand, FIRST_SETUP);
    const cell = planCapacity(costs, { ...demand, generations: demand.generations / cells }, DEPLOYMENT);
    const of = (role: string) => cell.roles.find((each) => each.role === role)!;
    const processes = (role: string) => count(cells * of(role).processes);
    const live = cell.disks.filter(({ copies }) => copies > 1);
    return [
      count(demand.generations),
      `${demand.retentionHours} h`,
      percent(demand.moderated),
      count(cells),
      count(cell.shards),
      `${of("nats-server").processes}`,
      processes("worker"),
      processes("delivery"),
      processes("moderation"),
      `${processes("audit-log")}, ${processes("analytics")}`,
      count(cells * cell.roles.reduce((sum, { cores }) => sum + cores, 0)),
      bytes(cells * of("nats-server").memoryBytes),
      bytes(cells * live.reduce((sum, disk) => sum + disk.bytes, 0)),
      `${bytes(cells * of("delivery").writtenBytes)}/s`,
    ];
  });
  return markdown(
    [
      "generations",
      "retention",
      "moderated",
      "cells",
      "shards of a cell",
      "servers of a cell",
      "workers",
      "delivery",
      "moderation",
      "audit-log, analytics",
      "cores",
      "servers' memory",
      "live logs on disk",
      "delivery writes",
    ],
    rows,
  );
}

function formatStudy({ tokensPerSecond, serviceMs, full, points, election }: PathStudy): string {
  const rows = points.map(({ share, generations, p50Ms, p99Ms, tokensPerEvent }) => [
    percent(share),
    count(generations),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    tokensPerEvent.toFixed(2),
  ]);
  const micros = Object.entries(serviceMs).map(([station, ms]) => `${station} ${round(1e3 * ms)} µs`);
  return [
    `${tokensPerSecond} tokens/s each; an event takes ${micros.join(", ")}. Without coalescing ${count(full)} generations would be all that the slowest of them can do.`,
    "",
    markdown(["of that", "generations", "p50 ms", "p99 ms", "tokens in an event"], rows),
    "",
    `A leader that is away for ${election.lastsMs / 1e3} s, at ${percent(election.share)}: the ${count(election.generations)} generations come back with one event each, and ${round(election.recoveredMs)} ms behind the election no token is later than ${election.quietMs} ms.`,
  ].join("\n");
}

function markdown(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  align = ["---", ...header.slice(1).map(() => "--:")],
): string {
  return [header, align, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
