// Prints the path of a nats-server that is new enough, after fetching one into the data folder where there is none. With `--tests gate` or
// `--tests all` it also says what these tests miss on this machine.
import { parseArgs } from "node:util";
import { ensureNatsServer } from "./ensure-nats-server.ts";
import { readMachine } from "./machine.ts";
import { describeMissing, missingTestPrograms } from "./missing-test-programs.ts";

const { values, positionals } = parseArgs({
  options: { tests: { type: "string" } },
  allowPositionals: true,
});
const [dataDir = ".reprise"] = positionals;

try {
  console.log(await ensureNatsServer(dataDir));
  if (values.tests === "gate" || values.tests === "all") {
    const missing = describeMissing(missingTestPrograms(values.tests), await readMachine());
    if (missing !== undefined) console.error(missing);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
