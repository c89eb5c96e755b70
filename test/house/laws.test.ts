import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The numbers of the laws. */
const LAWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

const rows = [
  ...readFileSync(`${ROOT}docs/laws.md`, "utf8").matchAll(/^\| (\d+)[^|]* \| [^|]+ \| `([^`]+)`: (.+) \|$/gm),
].map(([, law, file, title]) => ({ law: Number(law), file: file!, title: title! }));

describe("docs/laws.md", () => {
  test("names a test for every law", () => {
    expect([...new Set(rows.map(({ law }) => law))]).toEqual(LAWS);
  });

  test("names no test that does not exist", () => {
    const missing = rows.filter(
      ({ file, title }) =>
        !existsSync(ROOT + file) || !readFileSync(ROOT + file, "utf8").includes(`"${title}"`),
    );
    expect(missing).toEqual([]);
  });
});
