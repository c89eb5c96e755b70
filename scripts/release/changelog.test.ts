import { describe, expect, test } from "vitest";
import { readChangelog } from "./changelog.ts";

const changelog = (...headings: string[]) =>
  `# Changelog\n\n${headings.map((heading) => `## ${heading}\n\n### Added\n\n- One.\n- Two.\n`).join("\n")}`;

describe("the changelog of a version", () => {
  test("has it as its first section, with changes and a day", () => {
    const text = changelog("[0.2.0] - 2026-11-24", "[0.1.0] - 2026-10-01");
    expect(readChangelog(text, "0.2.0")).toEqual({ problems: [], entries: 2, date: "2026-11-24" });
  });

  test("may leave the day open while the version is in the making", () => {
    expect(readChangelog(changelog("[0.2.0] - unreleased"), "0.2.0")).toEqual({ problems: [], entries: 2 });
  });

  test("must not begin with another version", () => {
    const text = changelog("[0.1.0] - 2026-10-01");
    expect(readChangelog(text, "0.2.0").problems).toEqual([
      "CHANGELOG.md begins with version 0.1.0; package.json has 0.2.0",
    ]);
  });

  test("must list changes in that section, not in one behind it", () => {
    const text = `## [0.2.0] - 2026-11-24\n\n${changelog("[0.1.0] - 2026-10-01")}`;
    expect(readChangelog(text, "0.2.0").problems).toEqual(["CHANGELOG.md lists no changes for 0.2.0"]);
  });

  test.each(["24 November", "2026-13-01"])("must not have the date %s", (date) => {
    expect(readChangelog(changelog(`[0.2.0] - ${date}`), "0.2.0").problems).toEqual([
      `CHANGELOG.md gives 0.2.0 the date ${date}; it must be a day or "unreleased"`,
    ]);
  });

  test("must not leave the day of an older version open", () => {
    const text = changelog("[0.2.0] - unreleased", "[0.1.0] - unreleased");
    expect(readChangelog(text, "0.2.0").problems).toEqual([
      "CHANGELOG.md gives 0.1.0 the date unreleased; it must be a day",
    ]);
  });

  test("must have a section at all", () => {
    expect(readChangelog("# Changelog\n", "0.2.0").problems).toEqual([
      "CHANGELOG.md has no section of a version",
    ]);
  });
});
