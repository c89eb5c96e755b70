import { parseArgs } from "node:util";
import { FAULTS, type FaultName, isFaultName } from "./faults.ts";

export interface ChaosOptions {
  readonly fault: FaultName;
  readonly times: number;
}

/** Each may cost a generation an attempt, of which no policy permits more than ten. */
const MOST_TIMES = 9;

export const USAGE = `npm run chaos -- <${Object.keys(FAULTS).join("|")}> [--times N]

${Object.entries(FAULTS)
  .map(([name, { title }]) => `  ${name.padEnd(12)}${title}`)
  .join("\n")}

  --times 3   strikes so many times, 1 to ${MOST_TIMES} (default 2)`;

/** @throws Error that says what is wrong */
export function parseChaosOptions(args: readonly string[]): ChaosOptions {
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
