// Prints the path of a nats-server that is new enough, after fetching one into the data folder if there is none. With `--tests gate` or
// `--tests all` it also says which tests this machine leaves out.
import { parseArgs } from "node:util";
import { ensureNatsServer } from "./nats-server.ts";
import { describeMissing } from "./test-programs.ts";

const { values, positionals } = parseArgs({
  options: { tests: { type: "string" } },
  allowPositionals: true,
});
const [dataDir = ".reprise"] = positionals;

try {
  console.log(await ensureNatsServer(dataDir));
  const missing =
    values.tests === "gate" || values.tests === "all" ? describeMissing(values.tests) : undefined;
  if (missing !== undefined) console.error(missing);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
