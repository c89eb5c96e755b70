import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The numbers of the laws. */
const LAWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
/** Of each law, among the tests that `npm test` runs. */
const LEAST_IN_GATE = 2;

const rows = readFileSync(`${ROOT}docs/laws.md`, "utf8")
  .split(/^## /m)
  .slice(1)
  .flatMap((section) =>
    [...section.matchAll(/^\| [^|]+ \| `([^`]+)`: (.+) \|$/gm)].map(([, file, title]) => ({
      law: Number.parseInt(section, 10),
      file: file!,
      title: title!,
    })),
  );

/** The number of strings in a test file that begin with a row's words. */
function countTitles({ file, title }: { file: string; title: string }): number {
  if (!existsSync(ROOT + file)) return 0;
  return readFileSync(ROOT + file, "utf8").split(`"${title}`).length - 1;
}

describe("docs/laws.md", () => {
  test("names a test for every law", () => {
    expect([...new Set(rows.map(({ law }) => law))]).toEqual(LAWS);
  });

  test("names at least two tests for every law that are not slow", () => {
    const inGate = rows.filter(({ file }) => !file.endsWith(".slow.test.ts"));
    const tests = Map.groupBy(inGate, ({ law }) => law);
    const few = LAWS.filter((law) => {
      const titles = new Set(tests.get(law)?.map(({ file, title }) => `${file}: ${title}`));
      return titles.size < LEAST_IN_GATE;
    });
    expect(few).toEqual([]);
  });

  test("names exactly one existing test in each row", () => {
    const wrong = rows.filter((row) => countTitles(row) !== 1);
    expect(wrong).toEqual([]);
    expect(rows.length).toBeGreaterThan(150);
  });
});
