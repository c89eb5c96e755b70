import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Dependencies of services, by the sources: up to the first part of a text that is not known before. */
const WATCHED = globSync("{packages,services}/*/src/**/*.ts", { cwd: ROOT, exclude: ["**/*.test.ts"] })
  .toSorted()
  .flatMap((path) => [
    ...read(path).matchAll(
      /\bname: (?:"|`)([^"`]+)(?:"|`),\s+gone: (?:"|`)([^"`]+)(?:"|`),\s+back: (?:"|`)([^"`]+)(?:"|`)/g,
    ),
  ])
  .map(([, name = "", gone = "", back = ""]) => ({
    name: startOf(name),
    gone: startOf(gone),
    back: startOf(back),
  }));

/** The names of a watch that has one for each member of a kind that sources name. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  "usage-": globSync("services/analytics/src/sinks/*-sink.ts", { cwd: ROOT })
    .map((path) => basename(path, "-sink.ts"))
    .filter((name) => name !== "usage"),
};

function startOf(text: string): string {
  return text.split("${")[0] ?? "";
}

/** The rows of a table, the code in each cell. */
function codesOf(page: string, head: RegExp): string[][][] {
  const [, , ...rows] = page.slice(head.exec(page)?.index).split("\n");
  const end = rows.findIndex((row) => !row.startsWith("|"));
  return rows.slice(0, end).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code)),
  );
}

/** `redis`, and `engine:` for a name with more after it. */
const NAMES = WATCHED.flatMap(({ name }) => MEMBERS[name]?.map((member) => name + member) ?? [name]);
const isFound = (documented: readonly string[], name: string) =>
  documented.some((one) => one === name || (name.endsWith(":") && one.replace("…", "") === name));

test("the sources watch what the table lists, and nothing else", () => {
  const table = codesOf(read("docs/operations.md"), /^\| `dependency` \| gone \| back \|$/m);
  expect(WATCHED.length).toBeGreaterThan(9);
  for (const { name, gone, back } of WATCHED) {
    const rows = table.filter(([names = []]) => names.some((one) => one.startsWith(name)));
    expect({ name, rows }).toMatchObject({ rows: [expect.anything()] });
    const [, [goneLine = ""] = [], [backLine = ""] = []] = rows[0] ?? [];
    expect([goneLine, backLine].map((line) => line.replace("…", ""))).toEqual([gone, back]);
  }
  const documented = table.flatMap(([names = []]) => names);
  expect(documented.toSorted()).toEqual([...NAMES].toSorted());
});

test("the runbook of a dependency that is away says of each what to do", () => {
  const table = codesOf(read("docs/runbooks/dependency-away.md"), /^\| `dependency` \| do \|$/m);
  const documented = table.flatMap(([names = []]) => names);
  // The broker has an alert of its own.
  const missing = NAMES.filter((name) => name !== "broker" && !isFound(documented, name));
  expect(missing).toEqual([]);
});
