import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { REQUIREMENTS } from "./requirements.ts";
import { CASES } from "./run-suite.ts";

const DOCUMENT = readFileSync(new URL("../../../PROTOCOL.md", import.meta.url), "utf8");

/** Lists each requirement with the last section number before it. */
function sectionsOf(document: string): [id: string, section: string][] {
  let section = "";
  const found = document.matchAll(/^(?:#+ )?(\d+(?:\.\d+)*)\.? |\*\*(M-\d+)\*\*/gm);
  return [...found].flatMap(([, number, id]) => {
    if (number !== undefined) section = number;
    return id === undefined ? [] : [[id, section] as [string, string]];
  });
}

test("has each requirement of PROTOCOL.md with its section, and no other", () => {
  expect(REQUIREMENTS.map(({ id, section }) => [id, section])).toEqual(sectionsOf(DOCUMENT));
});

test("has one case for each requirement, or the reason why there is none", () => {
  const tested = CASES.map(({ requirement }) => requirement);
  const untestable = REQUIREMENTS.flatMap(({ id, untestable: reason }) => (reason === undefined ? [] : [id]));
  expect([...tested, ...untestable].toSorted()).toEqual(REQUIREMENTS.map(({ id }) => id).toSorted());
});
