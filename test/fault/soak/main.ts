import { parseArgs } from "node:util";
import { type Growth, isFlat, judgeMemory, type MemorySample } from "./judge-memory.ts";
import { LONG, SETTINGS } from "./soak-plan.ts";
import { runSoak } from "./run-soak.ts";
import { startSoakedPlatform } from "./soaked-platform.ts";

/* `npm run soak`: thousands of generations of every kind, and exit code 1 when the platform's memory does not stay flat. */

const USAGE = `npm run soak -- [options]

  --generations 20000   how many, the warm-up among them (default 24000; at least 12000)`;

/** The warm-up is 4,000 of them, and a garbage collection of nats-server weighs more the fewer there are. */
const LEAST = 12_000;
const MOST = 10_000_000;

/** @throws Error that names the option and what it may be */
function parseSoakOptions(args: readonly string[]): { readonly generations: number | undefined } {
  const { values } = parseArgs({ args: [...args], options: { generations: { type: "string" } } });
  if (values.generations === undefined) return { generations: undefined };
  const generations = Number(values.generations);
  if (Number.isInteger(generations) && generations >= LEAST && generations <= MOST) return { generations };
  throw new Error(`--generations: a whole number from ${LEAST} to ${MOST}, not "${values.generations}".`);
}

const MIB = 1_024 * 1_024;
const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;

function describe({ generations, heapBytes, externalBytes, brokerBytes, descriptors }: MemorySample): string {
  const process = `heap ${mib(heapBytes)}, external ${mib(externalBytes)}, ${descriptors} descriptors`;
  return `${`${generations}`.padStart(7)} generations: ${process}, nats-server ${mib(brokerBytes)}`;
}

function verdict({ name, grown, bound, unit }: Growth): string {
  return `${grown <= bound ? "flat   " : "GROWING"} ${name}: ${grown.toFixed(0)} ${unit}, at most ${bound}`;
}

const args = process.argv.slice(2);
const isAsked = args.includes("--help");
let generations: number | undefined;
try {
  if (isAsked) console.log(USAGE);
  else generations = parseSoakOptions(args).generations ?? LONG.generations;
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (generations !== undefined) {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
  await using platform = await startSoakedPlatform(SETTINGS);
  const onSample = (sample: MemorySample) => console.log(describe(sample));
  const samples = await runSoak(platform, { ...LONG, generations, signal: abort.signal, onSample });
  const growths = judgeMemory(samples, LONG.bounds);
  for (const growth of growths) console.log(verdict(growth));
  if (!isFlat(growths)) process.exitCode = 1;
}
