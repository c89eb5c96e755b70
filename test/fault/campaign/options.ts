import { parseArgs } from "node:util";
import { ROWS } from "../rows/all.ts";
import type { FaultRow } from "../rows/row.ts";

export interface CampaignOptions {
  readonly rows: readonly FaultRow[];
  /** Of each row; undefined for the short form, in which each row says how many. */
  readonly trials: number | undefined;
  /** Trial n of each row has this seed plus n. */
  readonly seed: number;
  /** Where the results go as JSON, and as a table in Markdown beside it; undefined for `.reprise/fault/<time>.json`. */
  readonly out: string | undefined;
  /** How many processes share the trials, each with worlds of its own. */
  readonly jobs: number;
  /** The JSON files of campaigns that were run before, to be made one report; nothing is run then. */
  readonly merge: readonly string[];
}

export const DEFAULT_SEED = 20_261_121;
const MOST_JOBS = 16;
const MOST_TRIALS = 100_000;

export const USAGE = `npm run test:fault -- [options]

  --trials 50        trials of each row (default: the short form, one or two of each, at most four minutes)
  --seed 7           of the first trial; the next one has the next number (default ${DEFAULT_SEED})
  --rows a,b         some of ${ROWS.map(({ name }) => name).join(", ")}
  --jobs 3           runs trials side by side in so many processes, each with a platform of its own (default 1)
  --merge a.json b.json   runs nothing: makes one report of those of earlier campaigns
  --out file.json    where the results go, with a table in file.md (default .reprise/fault/<time>.json)

To play one trial again: --rows <its row> --trials 1 --seed <its seed>`;

/** @throws Error that names the option and what it may be */
export function parseCampaignOptions(args: readonly string[]): CampaignOptions {
  const isMerge = args.includes("--merge");
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: isMerge,
    options: {
      merge: { type: "boolean", default: false },
      trials: { type: "string" },
      seed: { type: "string", default: String(DEFAULT_SEED) },
      rows: { type: "string" },
      out: { type: "string" },
      jobs: { type: "string", default: "1" },
    },
  });
  if (isMerge && positionals.length === 0) throw new Error("--merge: names no file of an earlier campaign.");
  return {
    merge: positionals,
    rows: parseRows(values.rows),
    trials: values.trials === undefined ? undefined : parseWhole("--trials", values.trials, 1, MOST_TRIALS),
    seed: parseWhole("--seed", values.seed, 0, 2 ** 32 - 1),
    out: values.out,
    jobs: parseWhole("--jobs", values.jobs, 1, MOST_JOBS),
  };
}

/** In the order of the table, however they were asked for. */
function parseRows(value: string | undefined): readonly FaultRow[] {
  if (value === undefined) return ROWS;
  const wanted = value.split(",");
  const unknown = wanted.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined)
    throw new Error(`--rows: "${unknown}" is none of ${ROWS.map(({ name }) => name).join(", ")}.`);
  return ROWS.filter(({ name }) => wanted.includes(name));
}

function parseWhole(option: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= least && number <= most && value.trim() !== "") return number;
  throw new Error(`${option}: "${value}" is not a whole number from ${least} to ${most}.`);
}
