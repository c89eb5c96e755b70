/** What came of one part of the check. */
export interface Outcome {
  /** Empty: it passed. */
  readonly problems: readonly string[];
  /** What was found, for whoever decides about the release. */
  readonly report?: readonly string[];
}

/** Runs one part and says what came of it; what it throws is a problem. @returns whether it passed */
export async function runStep(
  name: string,
  work: () => Outcome | Promise<Outcome>,
  say: (line: string) => void,
): Promise<boolean> {
  const started = performance.now();
  const { problems, report = [] } = await outcomeOf(work);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  say(`${problems.length === 0 ? "ok    " : "FAILED"} ${name.padEnd(10)} ${seconds} s`);
  for (const line of [...problems, ...report]) say(`       ${line.replaceAll("\n", "\n       ")}`);
  return problems.length === 0;
}

async function outcomeOf(work: () => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    return { problems: [error instanceof Error ? error.message : String(error)] };
  }
}
