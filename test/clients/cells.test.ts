import { glob, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const document = await readFile(new URL("../../docs/clients.md", import.meta.url), "utf8");
const cellsOf = (line: string) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The rows of the table whose header begins with these columns. */
function tableOf(header: string): string[][] {
  const lines = document.split("\n");
  const begin = lines.findIndex((line) => line.startsWith(header));
  if (begin < 0) throw new Error(`docs/clients.md has no table that begins with ${header}.`);
  const rows = lines.slice(begin);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .map(cellsOf);
}

const [[, ...cases] = [], , ...rows] = tableOf("| client | plain");
const marked = (mark: string) =>
  rows.flatMap(([client, ...cells]) =>
    cells.flatMap((cell, i) => (cell === mark ? [`${client} | ${cases[i]}`] : [])),
  );

const clients = new Set(rows.map(([client]) => client));

/** The titles of tests that have a client or a case of the table. */
async function titles(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("*.test.ts", { cwd: import.meta.dirname })) {
    const text = await readFile(new URL(file, import.meta.url), "utf8");
    for (const [, title] of text.matchAll(/^\s*test\(\s*"([^"]+ \| [^"]+)"/gm)) {
      const [client = "", name = ""] = (title ?? "").split(" | ");
      if (clients.has(client) || cases.includes(name)) found.push(`${client} | ${name}`);
    }
  }
  return found.toSorted();
}

test("each ✓ of docs/clients.md is a test, and each test a ✓", async () => {
  expect(marked("✓").toSorted()).toEqual(await titles());
});

test("each – of docs/clients.md has a reason, and each reason a –", () => {
  const reasons = tableOf("| client | case | why |")
    .slice(2)
    .map(([client, name]) => `${client} | ${name}`);
  expect(reasons.toSorted()).toEqual(marked("–").toSorted());
});

test("each cell of docs/clients.md is one of the two", () => {
  expect(marked("✓").length + marked("–").length).toBe(rows.length * cases.length);
});
