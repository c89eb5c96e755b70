/** A failed test, or a file that failed to load. */
export interface Failure {
  /** Relative to the repository. */
  readonly file: string;
  /** Empty for the file itself. */
  readonly test: string;
  readonly message: string;
  /** Compares a ledger's verdict: events were lost, repeated, reordered or leaked. */
  readonly isVerdict: boolean;
}

/** More failed files than this are a broken change or a broken machine: a second run of them takes as long as the first. */
export const MAX_SECOND_RUNS = 5;

/**
 * Picks the files that run a second time, alone. A test that the change adds or edits has to pass at once, and so has a verdict
 * of loss, repetition or leak; a file with such a failure has failed.
 * @param changed the test files that the change adds or edits
 */
export function filesToRunAgain(failures: readonly Failure[], changed: ReadonlySet<string>): string[] {
  const files = new Set(failures.map(({ file }) => file));
  if (files.size > MAX_SECOND_RUNS) return [];
  const isFinal = (failure: Failure) => failure.isVerdict || changed.has(failure.file);
  return [...files.difference(new Set(failures.filter(isFinal).map(({ file }) => file)))];
}

/** Names each test that failed at first and passed when its file ran again: one line each. */
export function flakyLines(
  first: readonly Failure[],
  again: readonly string[],
  second: readonly Failure[],
): string[] {
  const failed = new Set(second.map(({ file }) => file));
  return first
    .filter(({ file }) => again.includes(file) && !failed.has(file))
    .map(
      ({ file, test, message }) =>
        `flaky: ${[file, test].filter(Boolean).join(" > ")}: ${message.split("\n")[0]}`,
    );
}

/** The error of a ledger or a fault row when events went wrong, and not when a trial did not come about. */
const VERDICT =
  /"(lost|duplicated|reordered|leaked)": \[\n|, seed \d+: (?!hung|no_fault|harness|refused|lines|late_break)\w+: /;

/** @param actual the value that an assertion compared, as vitest prints it */
export function isVerdict(actual: unknown): boolean {
  return typeof actual === "string" && VERDICT.test(actual);
}
