import { randomInt } from "node:crypto";
import { type ChaosOptions, parseChaosOptions, USAGE } from "./options.ts";
import { runChaos } from "./run-chaos.ts";

/* `npm run chaos -- worker`: one fault, told as it happens. Exits with 0 when every invariant held. */

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
