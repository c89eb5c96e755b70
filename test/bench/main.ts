import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { stopChildren } from "./children/child.ts";
import { type BenchOptions, parseBenchOptions, USAGE } from "./options.ts";
import { runBench } from "./run-bench.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Ends a run that hangs: on a quiet machine one takes two minutes with --quick, 20 without. */
const MOST_SECONDS = { quick: 300, full: 1_500 };

const args = process.argv.slice(2);
const isAsked = args.includes("--help");
let options: BenchOptions | undefined;
try {
  if (isAsked) console.log(USAGE);
  else options = parseBenchOptions(args);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options) await run(options);

/** Ends every child, whether the run is done, fails, is interrupted or takes too long. */
async function run(chosen: BenchOptions): Promise<void> {
  const abort = new AbortController();
  const unwind = (why: string) => {
    abort.abort(new Error(why));
    void stopChildren();
  };
  const onInterrupt = () => unwind("interrupted");
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onInterrupt);
  const limit = MOST_SECONDS[chosen.quick ? "quick" : "full"];
  const timer = setTimeout(() => unwind(`not done after ${limit} s`), limit * 1e3);
  try {
    const dataDir = resolve(ROOT, process.env["REPRISE_DATA_DIR"] ?? ".reprise");
    await runBench({ options: chosen, signal: abort.signal, env: process.env, dataDir, print: console.log });
  } catch (error) {
    process.exitCode = 1;
    console.error(abort.signal.aborted ? `bench: ${(abort.signal.reason as Error).message}` : error);
  } finally {
    clearTimeout(timer);
    process.removeListener("SIGINT", onInterrupt);
    process.removeListener("SIGTERM", onInterrupt);
  }
}
