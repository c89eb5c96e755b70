import { glob, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readDocument } from "../e2e/testing/document.ts";
import { CASES, WITHOUT } from "./testing/cells.ts";

const page = readDocument("docs/clients.md");
const rows = page.table(`| client | ${CASES.join(" | ")} |`);
const marked = (mark: string) =>
  rows.flatMap(([client, ...cells]) =>
    cells.flatMap((cell, i) => (cell === mark ? [`${client} | ${CASES[i]}`] : [])),
  );

/** Clients of which a file registers tests. */
async function testedClients(): Promise<string[]> {
  const texts = await Array.fromAsync(glob("*.test.ts", { cwd: import.meta.dirname }), (file) =>
    readFile(new URL(file, import.meta.url), "utf8"),
  );
  return texts.flatMap((text) => [...text.matchAll(/^testCells\("([^"]+)"/gm)].map(([, client]) => client!));
}

test("each ✓ of docs/clients.md is a test, and each test a ✓", async () => {
  const titles = (await testedClients()).flatMap((client) =>
    CASES.filter((name) => !WITHOUT[client]?.includes(name)).map((name) => `${client} | ${name}`),
  );
  expect(marked("✓").toSorted()).toEqual(titles.toSorted());
  expect(marked("✓").length + marked("–").length).toBe(rows.length * CASES.length);
});

test("each – of docs/clients.md has a reason, and each reason a –", () => {
  const reasons = page.table("| client | case | why |").map(([client, name]) => `${client} | ${name}`);
  expect(reasons.toSorted()).toEqual(marked("–").toSorted());
});
