// `npm test` and `npm run test:all`. Without arguments it runs all files of its tier; a file that fails runs once more, alone, after
// all others have ended, and a test that passes then is named as flaky. With words it is vitest: files of both tiers whose path
// contains one of them.
import { execFileSync } from "node:child_process";
import { relative } from "node:path";
import { createVitest, parseCLI, type TestModule, type TestSpecification } from "vitest/node";
import { describeMissing } from "../programs/test-programs.ts";
import { type Failure, filesToRunAgain, flakyLines, isVerdict } from "./failure.ts";
import { ProgressReporter } from "./progress-reporter.ts";

/** The projects of `npm test`; vitest.config.ts says what is in each. */
const GATE = ["alone", "shared"];
/** Sessions are shorter than this, so a submission's commits are younger. */
const SUBMISSION_SECONDS = 4 * 3_600;
/** The gate searches the same values each time: a failure is the change's. */
const GATE_SEED = 20_261_128;
const TODAY_SEED = Number(new Date().toISOString().slice(0, 10).replaceAll("-", ""));

const [tier, ...args] = process.argv.slice(2);
const { filter, options } = parseCLI(["vitest", "run", ...args]);
const isWhole = filter.length === 0 && options.testNamePattern === undefined;
const isGate = isWhole && tier === "gate";

const vitest = await createVitest({
  ...options,
  ...(isWhole && { reporters: [new ProgressReporter()] }),
  ...(isGate && { project: GATE }),
});
vitest.provide("seed", tier === "all" ? TODAY_SEED : GATE_SEED);
const missing = describeMissing(filter.length > 0 ? filter : isGate ? "gate" : "all");
if (missing !== undefined) console.error(missing);
try {
  const passed = isWhole ? await runWhole() : await runSome();
  process.exitCode = passed ? 0 : 1;
} finally {
  await vitest.exit();
}

async function runWhole(): Promise<boolean> {
  if (isGate)
    console.log("Short tests, about 8 minutes on two cores; `npm run test:all` runs the long ones too.");
  else console.log(`All tests; seed of properties: ${TODAY_SEED}`);
  await vitest.standalone();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(await selectFiles(), true);
  const first = testModules.flatMap(failuresOf);
  const again = filesToRunAgain(first, changedFiles());
  const failed = testModules.filter((testModule) => again.includes(pathOf(testModule)));
  for (const testModule of failed) {
    console.log(`Runs again, alone: ${pathOf(testModule)}`);
    const { unhandledErrors: more } = await vitest.runTestSpecifications([testModule.toTestSpecification()]);
    unhandledErrors.push(...more);
  }
  const last = vitest.state.getTestModules();
  for (const line of flakyLines(first, again, last.flatMap(failuresOf))) console.log(line);
  return printCounts(last) && unhandledErrors.length === 0;
}

async function runSome(): Promise<boolean> {
  const isFound = (await vitest.globTestSpecifications(filter)).length > 0;
  if (!isFound) console.error(`There are no tests to run with ${filter.join(" or ")} in their paths.`);
  return isFound && isPassed(await vitest.start(filter));
}

/** With `--changed <commit>`: the files that import what has changed since, and all of `test` if that is source, which they start as processes. */
async function selectFiles(): Promise<TestSpecification[]> {
  const byImport = await vitest.getRelevantTestSpecifications();
  const commit = options.changed;
  if (typeof commit !== "string" || !filesChangedSince(commit).some(isSource)) return byImport;
  const known = new Set(byImport.map(({ moduleId }) => moduleId));
  const processes = await vitest.globTestSpecifications(["test/"]);
  return [...byImport, ...processes.filter(({ moduleId }) => !known.has(moduleId))];
}

function isSource(path: string): boolean {
  return /^(packages|services)\/[^/]+\/src\//.test(path) && !path.endsWith(".test.ts");
}

/** Prints the last line, which machines read. @returns true if a test passed and none failed */
function printCounts(testModules: readonly TestModule[]): boolean {
  const states = testModules.flatMap((testModule) =>
    [...testModule.children.allTests()].map((test) => test.result().state),
  );
  const count = (state: string) => states.filter((one) => one === state).length;
  const unloaded = testModules.filter((testModule) => testModule.errors().length > 0).length;
  const [passed, failed] = [count("passed"), count("failed") + unloaded];
  console.log(`${passed} passed, ${failed} failed, ${count("skipped") + count("pending")} skipped`);
  return passed > 0 && failed === 0;
}

function failuresOf(testModule: TestModule): Failure[] {
  const file = pathOf(testModule);
  const tests = [...testModule.children.allTests("failed")].map((test) => ({
    test: test.fullName,
    errors: test.result().errors ?? [],
  }));
  const failures = [{ test: "", errors: testModule.errors() }, ...tests];
  return failures
    .filter(({ test, errors }) => test !== "" || errors.length > 0)
    .map(({ test, errors }) => ({
      file,
      test,
      message: errors[0]?.message ?? "",
      isVerdict: errors.some(({ actual }) => isVerdict(actual)),
    }));
}

function pathOf({ moduleId }: TestModule): string {
  return relative(process.cwd(), moduleId);
}

function isPassed({ testModules, unhandledErrors }: Awaited<ReturnType<typeof vitest.start>>): boolean {
  return unhandledErrors.length === 0 && testModules.every((testModule) => testModule.state() !== "failed");
}

/**
 * Lists the files that the change at hand adds or edits: its commits, which are at most four hours older than the last one, and
 * what is not committed. A renamed file with the same content is not among them. Empty outside a git repository.
 */
function changedFiles(): Set<string> {
  try {
    const head = Number(git("log", "-1", "--format=%ct"));
    const base = git("rev-list", "-1", `--before=${head - SUBMISSION_SECONDS}`, "HEAD");
    return new Set(filesChangedSince(base || "HEAD"));
  } catch {
    return new Set();
  }
}

/** Lists the files that were added or edited since a commit, uncommitted ones included. */
function filesChangedSince(commit: string): string[] {
  const edited = git("diff", "--name-only", "-M100%", "--diff-filter=AM", commit);
  return [edited, git("ls-files", "--others", "--exclude-standard")].flatMap((list) => list.split("\n"));
}

function git(...words: readonly string[]): string {
  return execFileSync("git", words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
