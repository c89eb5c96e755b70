// Prints what came of the tests, from vitest's JSON report, as one line that machines can read; fails when none ran.
import { existsSync, readFileSync } from "node:fs";

const [path = ""] = process.argv.slice(2);
/** @type {{ testResults: { status: string, assertionResults: { status: string }[] }[] }} */
const report = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { testResults: [] };

// A file that can't even be loaded holds no failed test, yet it is one.
const results = report.testResults.flatMap(({ status, assertionResults }) => {
  const statuses = assertionResults.map((result) => result.status);
  return status === "failed" && !statuses.includes("failed") ? [...statuses, "failed"] : statuses;
});
const passed = results.filter((status) => status === "passed").length;
const failed = results.filter((status) => status === "failed").length;

console.log(`${passed} passed, ${failed} failed, ${results.length - passed - failed} skipped`);
if (passed === 0 || failed > 0) process.exitCode = 1;
