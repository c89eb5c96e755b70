import { isFlat, judgeMemory, type Growth } from "./judge-memory.ts";
import { LONG, SETTINGS } from "./soak-plan.ts";
import { parseSoakOptions, USAGE } from "./options.ts";
import { runSoak } from "./run-soak.ts";
import { startSoakedPlatform } from "./soaked-platform.ts";
import type { MemorySample } from "./process-memory.ts";

/* `npm run soak`: thousands of generations of every kind, and exit code 1 when the platform's memory does not stay flat. */

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
