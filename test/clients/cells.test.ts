import { glob, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readDocument } from "../e2e/testing/document.ts";
import { CASES, WITHOUT } from "./testing/cells.ts";

const page = readDocument("docs/clients.md");

/** Clients of which a file registers tests. */
async function testedClients(): Promise<string[]> {
  const texts = await Array.fromAsync(glob("*.test.ts", { cwd: import.meta.dirname }), (file) =>
    readFile(new URL(file, import.meta.url), "utf8"),
  );
  return texts.flatMap((text) => [...text.matchAll(/^testCells\("([^"]+)"/gm)].map(([, client]) => client!));
}

test("docs/clients.md lists the clients that have tests", async () => {
  const listed = page.table("| client |").map(([client]) => client!);
  expect(listed.toSorted()).toEqual((await testedClients()).toSorted());
});

test("docs/clients.md says what each case is", () => {
  const explained = page.table("| case | the client must get |").flatMap(([names]) => names!.split(", "));
  expect(explained).toEqual(CASES);
});

test("docs/clients.md has a reason for each case that a client lacks, and no other", () => {
  const reasons = page.table("| client | case | why |").map(([client, name]) => `${client} | ${name}`);
  const lacking = Object.entries(WITHOUT).flatMap(([client, names]) =>
    names.map((name) => `${client} | ${name}`),
  );
  expect(reasons.toSorted()).toEqual(lacking.toSorted());
});
