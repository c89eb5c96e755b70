import { parseArgs } from "node:util";

export const USAGE = `npm run soak -- [options]

  --generations 20000   how many, the warm-up among them (default 24000; at least 12000)`;

/** The warm-up is 4,000 of them, and a garbage collection of nats-server weighs more the fewer there are. */
const LEAST = 12_000;
const MOST = 10_000_000;

/** @throws Error that names the option and what it may be */
export function parseSoakOptions(args: readonly string[]): { readonly generations: number | undefined } {
  const { values } = parseArgs({ args: [...args], options: { generations: { type: "string" } } });
  if (values.generations === undefined) return { generations: undefined };
  const generations = Number(values.generations);
  if (Number.isInteger(generations) && generations >= LEAST && generations <= MOST) return { generations };
  throw new Error(`--generations: a whole number from ${LEAST} to ${MOST}, not "${values.generations}".`);
}
