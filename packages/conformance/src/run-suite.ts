import { createCases } from "./cases/create.ts";
import { cursorCases } from "./cases/cursors.ts";
import { eventCases } from "./cases/events.ts";
import { generationCases } from "./cases/generation.ts";
import { readingCases } from "./cases/reading.ts";
import { toolCases } from "./cases/tools.ts";
import { transportCases } from "./cases/transport.ts";
import { type Case, NotTested } from "./case.ts";
import { cancel } from "./generation.ts";
import { REQUIREMENTS, type Requirement } from "./requirements.ts";
import type { Target, TargetOptions } from "./target.ts";

export const CASES: readonly Case[] = [
  ...transportCases,
  ...createCases,
  ...generationCases,
  ...toolCases,
  ...eventCases,
  ...cursorCases,
  ...readingCases,
];

const TIMEOUT_MS = 30_000;
/** Cases above this are left out of a quick run. */
const QUICK_SECONDS = 10;

export interface SuiteOptions {
  /** Only these requirements. Default: all. */
  readonly only?: readonly string[] | undefined;
  /** Leaves out cases that take longer than 10 seconds. */
  readonly quick?: boolean | undefined;
  /** Cases at a time. Default: 4. */
  readonly concurrency?: number | undefined;
}

export type Outcome = "kept" | "broken" | "not tested";

export interface Result {
  readonly requirement: Requirement;
  readonly outcome: Outcome;
  /** Says what was broken, or why nothing was tested. */
  readonly reason?: string;
}

/** Checks each requirement and returns the results in their order. A case that fails ends no other. */
export async function runSuite(
  target: TargetOptions,
  { only, quick = false, concurrency = 4 }: SuiteOptions = {},
): Promise<Result[]> {
  const requirements = REQUIREMENTS.filter(({ id }) => only === undefined || only.includes(id));
  const results = new Map<string, Result>();
  const waiting = [...requirements];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      results.set(next.id, await test(next, target, quick));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return requirements.flatMap(({ id }) => results.get(id) ?? []);
}

async function test(requirement: Requirement, target: TargetOptions, quick: boolean): Promise<Result> {
  const skip = (reason: string): Result => ({ requirement, outcome: "not tested", reason });
  if (requirement.untestable !== undefined) return skip(requirement.untestable);
  const own = CASES.find((one) => one.requirement === requirement.id);
  if (own === undefined) return skip("has no case");
  if (quick && (own.seconds ?? 0) > QUICK_SECONDS) return skip(`takes ${own.seconds} seconds`);
  try {
    await runCase(own, target);
    return { requirement, outcome: "kept" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof NotTested) return skip(message);
    return { requirement, outcome: "broken", reason: `${own.name}: ${message}` };
  }
}

/** Runs a case within its time, and cancels what it leaves running. */
async function runCase(
  own: Case,
  { model = "sim", timeoutMs = TIMEOUT_MS, ...rest }: TargetOptions,
): Promise<void> {
  const longRunning = new Set<string>();
  const timeout = new AbortController();
  const target: Target = { ...rest, model, signal: timeout.signal, longRunning };
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    over.reject(new Error(`not done after ${timeoutMs} milliseconds`));
    timeout.abort();
  }, timeoutMs);
  try {
    await Promise.race([own.run(target), over.promise]);
  } finally {
    clearTimeout(timer);
    const signal = AbortSignal.timeout(5_000);
    await Promise.allSettled([...longRunning].map((id) => cancel({ ...target, signal }, id)));
    timeout.abort();
  }
}
