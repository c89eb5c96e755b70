import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { FAULTS, isFaultName } from "./faults.ts";
import { type ChaosOptions, runChaos } from "./run-chaos.ts";

/* `npm run chaos -- worker`: one fault, told as it happens. Exits with 0 when every invariant held. */

/** Each may cost a generation an attempt, of which no policy permits more than ten. */
const MOST_TIMES = 9;

const USAGE = `npm run chaos -- <${Object.keys(FAULTS).join("|")}> [--times N]

${Object.entries(FAULTS)
  .map(([name, { title }]) => `  ${name.padEnd(12)}${title}`)
  .join("\n")}

  --times 3   strikes so many times, 1 to ${MOST_TIMES} (default 2)`;

/** @throws Error that says what is wrong */
function parseChaosOptions(args: readonly string[]): ChaosOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { times: { type: "string", default: "2" } },
  });
  const [fault, ...rest] = positionals;
  if (fault === undefined) throw new Error("What is to be broken?");
  if (!isFaultName(fault) || rest.length > 0)
    throw new Error(`"${positionals.join(" ")}" can't be broken here.`);
  const times = Number(values.times);
  if (!Number.isInteger(times) || times < 1 || times > MOST_TIMES)
    throw new Error(`--times: "${values.times}" is not a whole number from 1 to ${MOST_TIMES}.`);
  return { fault, times };
}

const args = process.argv.slice(2);
const isAsked = args.includes("--help");
let options: ChaosOptions | undefined;
try {
  if (isAsked) console.log(USAGE);
  else options = parseChaosOptions(args);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options && !(await runChaos(options, randomInt(2 ** 32), process.stdout))) process.exitCode = 1;
