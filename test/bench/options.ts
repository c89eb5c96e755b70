import { parseArgs } from "node:util";
import { TARGET_NAMES, type TargetName } from "./targets/all.ts";

export const SCENARIOS = [
  "S1",
  "S2",
  "S3",
  "FIRST",
  "IDLE",
  "APPEND",
  "CHURN",
  "STALLED",
  "SCALE",
  "PROTOCOLS",
  "MODERATION",
  "RETRACT-LAG",
  "RULES",
  "AUDIT",
  "ARCHIVE",
  "ANALYTICS",
  "OBSERVED",
  "FLOOD",
  "FAIR",
  "LIMITS",
] as const;

/** What fits in two minutes. */
const QUICK_SCENARIOS = [
  "S1",
  "S2",
  "S3",
  "FIRST",
  "IDLE",
  "APPEND",
  "CHURN",
  "PROTOCOLS",
  "MODERATION",
  "RETRACT-LAG",
  "ARCHIVE",
  "LIMITS",
] as const;

export type ScenarioName = (typeof SCENARIOS)[number];

export interface BenchOptions {
  quick: boolean;
  only: readonly ScenarioName[];
  targets: readonly TargetName[];
  /** Replay this trace instead of running the scenarios. */
  trace: string | undefined;
  speed: number;
  seconds: number;
  /** Where the JSON goes; undefined for `.reprise/bench/<time>.json`. */
  out: string | undefined;
  redis: string;
  /** Where Reprise's services leave CPU profiles. */
  profile: string | undefined;
}

export const USAGE = `npm run bench -- [options]

  --quick               two minutes, without STALLED, SCALE, RULES, AUDIT, ANALYTICS, OBSERVED, FLOOD and FAIR; its figures are a hint
  --only S1,S2          some of ${SCENARIOS.join(", ")}
  --targets floor,…     some of ${TARGET_NAMES.join(", ")}
  --trace <file>        replay the arrivals of a trace (TIMESTAMP,ContextTokens,GeneratedTokens) instead
  --speed 10            … this many times as fast (default 1)
  --seconds 60          … for so many seconds (default 60)
  --out <file>          the results as JSON (default .reprise/bench/<time>.json)
  --profile <folder>    CPU profiles of Reprise's services, for Chrome or VS Code; they slow the services down
  --redis <path>        redis-server (default: the one on PATH); without one its targets are left out`;

const MAX_TRACE_SECONDS = 300;

/** @throws Error that names the option and what it may be */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      targets: { type: "string" },
      trace: { type: "string" },
      speed: { type: "string", default: "1" },
      seconds: { type: "string", default: "60" },
      out: { type: "string" },
      profile: { type: "string" },
      redis: { type: "string", default: "redis-server" },
    },
  });
  return {
    quick: values.quick,
    only:
      values.quick && values.only === undefined
        ? QUICK_SCENARIOS
        : parseList("--only", values.only, SCENARIOS),
    targets: parseList("--targets", values.targets, TARGET_NAMES),
    trace: values.trace,
    speed: parseNumber("--speed", values.speed, 1_000),
    seconds: parseNumber("--seconds", values.seconds, MAX_TRACE_SECONDS),
    out: values.out,
    redis: values.redis,
    profile: values.profile,
  };
}

/** Some of the known names, in the known order: a table has the same order for any order of the option. */
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

function parseNumber(option: string, value: string, most: number): number {
  const number = Number(value);
  if (number > 0 && number <= most) return number;
  throw new Error(`${option}: "${value}" is not a number above 0 and up to ${most}.`);
}
