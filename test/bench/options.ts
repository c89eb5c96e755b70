import { parseArgs } from "node:util";
import { LONG_SCENARIOS, SCENARIO_NAMES, type ScenarioName } from "./scenarios/all.ts";
import { TARGET_NAMES, type TargetName } from "./targets/all.ts";

export interface BenchOptions {
  quick: boolean;
  only: readonly ScenarioName[];
  targets: readonly TargetName[];
  /** Path of the JSON; undefined for `.reprise/bench/<time>.json`. */
  out: string | undefined;
  redis: string;
  /** Folder for CPU profiles of Reprise's services. */
  profile: string | undefined;
}

export const USAGE = `npm run bench -- [options]

  --quick               two minutes, without ${[...LONG_SCENARIOS].join(", ")}; its figures are a hint
  --only S1,S2          some of ${SCENARIO_NAMES.join(", ")}
  --targets floor,…     some of ${TARGET_NAMES.join(", ")}
  --out <file>          the results as JSON (default .reprise/bench/<time>.json)
  --profile <folder>    CPU profiles of Reprise's services, for Chrome or VS Code; they slow the services down
  --redis <path>        redis-server (default: the one on PATH); without one its targets are left out`;

/** @throws Error that names the option and what it may be */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      targets: { type: "string" },
      out: { type: "string" },
      profile: { type: "string" },
      redis: { type: "string", default: "redis-server" },
    },
  });
  const isQuick = values.quick && values.only === undefined;
  return {
    quick: values.quick,
    only: parseList("--only", values.only, SCENARIO_NAMES).filter(
      (name) => !isQuick || !LONG_SCENARIOS.has(name),
    ),
    targets: parseList("--targets", values.targets, TARGET_NAMES),
    out: values.out,
    redis: values.redis,
    profile: values.profile,
  };
}

/** Parses some of the known names; the result has the known order. */
function parseList<Name extends string>(
  option: string,
  value: string | undefined,
  known: readonly Name[],
): Name[] {
  if (value === undefined) return [...known];
  const wanted = value.split(",");
  const unknown = wanted.find((name) => !known.some((each) => each === name));
  if (unknown !== undefined) throw new Error(`${option}: "${unknown}" is none of ${known.join(", ")}.`);
  return known.filter((name) => wanted.includes(name));
}
