import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Where the wall clock is read; and the SDK, which has to notice that a device was asleep: in some browsers the other clock stands still then. */
const READERS = ["packages/client/src/retry/runtime.ts", "packages/protocol/src/unix-ms.ts"];

test("the wall clock is read through unixNow: deadlines and ages within a process are by performance.now, which nothing sets", () => {
  const sources = globSync("{packages,services}/*/src/**/*.ts", { cwd: ROOT }).filter(
    (path) => !/node_modules|\.(test|fixture)\.ts$|\/testing\//.test(path),
  );
  expect(sources.length).toBeGreaterThan(500);
  const readers = sources.filter((path) => readFileSync(ROOT + path, "utf8").includes("Date.now"));
  expect(readers.toSorted()).toEqual(READERS);
});
