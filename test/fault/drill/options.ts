import { parseArgs } from "node:util";

export type DrillOptions =
  | { readonly name: "restore"; readonly generations: number }
  | { readonly name: "upgrade"; readonly from: string; readonly seed: number | undefined };

export const USAGE = `npm run drill -- restore [--generations N]
npm run drill -- upgrade [--from REVISION] [--seed N]

  restore           makes data on a real broker, backs it up while services write, destroys everything, restores it to an
                    empty broker, compares every message, log, text and archived event, and has readers go on from their cursors
  --generations N   how many have ended, and how many run, 2 to 200 (default 8)

  upgrade           runs the services of an earlier commit beside these under load, in both orders, rolls back, and judges every event
  --from REVISION   the earlier commit, as git names it (default HEAD^)
  --seed N          what a run draws from, to have the same again`;

const LEAST = 2;
const MOST = 200;

/** @throws Error that says what is wrong */
export function parseDrillOptions(args: readonly string[]): DrillOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      generations: { type: "string", default: "8" },
      from: { type: "string", default: "HEAD^" },
      seed: { type: "string" },
    },
  });
  const name = positionals.join(" ");
  if (name === "restore")
    return { name, generations: toNumber("generations", values.generations, { least: LEAST, most: MOST }) };
  if (name !== "upgrade") throw new Error(`"${name}" can't be drilled.`);
  const seed =
    values.seed === undefined ? undefined : toNumber("seed", values.seed, { least: 0, most: 2 ** 31 });
  return { name, from: values.from, seed };
}

function toNumber(option: string, text: string, { least, most }: { least: number; most: number }): number {
  const parsed = Number(text);
  if (Number.isInteger(parsed) && parsed >= least && parsed <= most) return parsed;
  throw new Error(`--${option}: "${text}" is not a whole number from ${least} to ${most}.`);
}
