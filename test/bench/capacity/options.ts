import { parseArgs } from "node:util";
import { EXAMPLE } from "./format-page.ts";
import type { Demand } from "./load.ts";
import { DEPLOYMENT, type Deployment } from "./plan-capacity.ts";

export interface CapacityOptions {
  readonly demand: Demand;
  readonly deployment: Deployment;
  /** A report of the bench whose figures the table takes over. */
  readonly take: string | undefined;
  /** Whether docs/operations/capacity.md and its plot are made anew. */
  readonly docs: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run capacity -- [options]

  --generations 10000        that run at the same time
  --readers 1                of each, on average
  --tokens-per-second 30     of each
  --tokens 400               of each, on average
  --retention 24             hours for which the live log is kept
  --moderated 1              share of them that is moderated
  --archive-days 365         for which the archive and rows of analytics are kept
  --blob-mb 0                uploaded for each generation, on average: what a request names again is no upload
  --blob-ttl 24              hours behind its last use for which a blob is kept: REPRISE_BLOB_TTL_HOURS
  --replicas 3               of streams: 1 to 5
  --core-speed 1             of a core, as a multiple of the table's machine
  --utilisation 0.6          of a core at most
  --server-cores 8           of each machine with a nats-server
  --readers-per-node 5000    of a node of delivery at most

  --take <report.json>       puts the figures of a bench's CAPACITY and ANALYTICS into test/bench/capacity/unit-costs.json
  --docs                     writes the tables of docs/operations/capacity.md and its plot anew`;

const LIMITS = {
  generations: [1, 1e8],
  readers: [0, 1e6],
  "tokens-per-second": [0.1, 1e4],
  tokens: [1, 1e6],
  retention: [0.1, 24 * 365],
  moderated: [0, 1],
  "archive-days": [0, 36_500],
  "blob-mb": [0, 1e3],
  "blob-ttl": [0, 24 * 365],
  replicas: [1, 5],
  "core-speed": [0.1, 20],
  utilisation: [0.05, 1],
  "server-cores": [1, 256],
  "readers-per-node": [1, 1e6],
} as const;

const FLAG = { type: "boolean", default: false } as const;

/** @throws Error that names the option and what it may be */
export function parseCapacityOptions(args: readonly string[]): CapacityOptions {
  const numbers = Object.fromEntries(Object.keys(LIMITS).map((name) => [name, { type: "string" } as const]));
  const { values } = parseArgs({
    args: [...args],
    options: { ...numbers, take: { type: "string" }, docs: FLAG, help: FLAG },
  });
  const given = new Map<string, string | boolean | undefined>(Object.entries(values));
  const number = (name: keyof typeof LIMITS, fallback: number) => {
    const value = given.get(name);
    if (value === undefined) return fallback;
    const [least, most] = LIMITS[name];
    const parsed = Number(value);
    if (value !== "" && parsed >= least && parsed <= most) return parsed;
    throw new Error(`--${name}: "${value}" is not a number from ${least} to ${most}.`);
  };
  return {
    demand: {
      generations: number("generations", EXAMPLE.generations),
      readers: number("readers", EXAMPLE.readers),
      tokensPerSecond: number("tokens-per-second", EXAMPLE.tokensPerSecond),
      tokens: number("tokens", EXAMPLE.tokens),
      retentionHours: number("retention", EXAMPLE.retentionHours),
      moderated: number("moderated", EXAMPLE.moderated),
      archiveDays: number("archive-days", EXAMPLE.archiveDays),
      blobMegabytes: number("blob-mb", EXAMPLE.blobMegabytes),
      blobHours: number("blob-ttl", EXAMPLE.blobHours),
    },
    deployment: {
      replicas: number("replicas", DEPLOYMENT.replicas),
      coreSpeed: number("core-speed", DEPLOYMENT.coreSpeed),
      utilisation: number("utilisation", DEPLOYMENT.utilisation),
      serverCores: number("server-cores", DEPLOYMENT.serverCores),
      readersPerNode: number("readers-per-node", DEPLOYMENT.readersPerNode),
    },
    take: values.take,
    docs: values.docs,
    help: values.help,
  };
}
