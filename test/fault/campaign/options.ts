import { parseArgs } from "node:util";
import { ROWS } from "../rows/all.ts";
import type { FaultRow } from "../rows/row.ts";

export interface CampaignOptions {
  readonly rows: readonly FaultRow[];
  /** Trials of each row; undefined for the short form, in which each row has its number. */
  readonly trials: number | undefined;
  /** Trial n of each row has this seed plus n. */
  readonly seed: number;
  /** The file for the results as JSON, with a table in Markdown beside it; undefined for `.reprise/fault/<time>.json`. */
  readonly out: string | undefined;
}

export const DEFAULT_SEED = 20_261_121;
const MOST_TRIALS = 100_000;

export const USAGE = `npm run test:fault -- [options]

  --trials 50        trials of each row (default: the short form, one or two of each, at most four minutes)
  --seed 7           of the first trial; the next one has the next number (default ${DEFAULT_SEED})
  --rows a,b         some of ${ROWS.map(({ name }) => name).join(", ")}
  --out file.json    where the results go, with a table in file.md (default .reprise/fault/<time>.json)

To play one trial again: --rows <its row> --trials 1 --seed <its seed>`;

/** @throws Error that names the option and what it may be */
export function parseCampaignOptions(args: readonly string[]): CampaignOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      trials: { type: "string" },
      seed: { type: "string", default: String(DEFAULT_SEED) },
      rows: { type: "string" },
      out: { type: "string" },
    },
  });
  return {
    rows: parseRows(values.rows),
    trials: values.trials === undefined ? undefined : parseWhole("--trials", values.trials, 1, MOST_TRIALS),
    seed: parseWhole("--seed", values.seed, 0, 2 ** 32 - 1),
    out: values.out,
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
