import { readFile } from "node:fs/promises";
import { BUILT_IN_RULES } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import type { RuleFinding } from "../scanning/finding.ts";
import { compileRuleSet } from "../rule-set.ts";
import { cut, inOrder, scan } from "../scanning/scanning.fixture.ts";
import { createDraw, seedOf } from "./draw.ts";
import { innocents } from "./innocents/all.ts";
import { measure } from "./measure.fixture.ts";
import { positives } from "./positives.ts";
import { reportTables } from "./report.fixture.ts";

/** Not to be lowered: rules that find less, or more of what is innocent, are mended. */
const LEAST_RECALL = 0.98;
const LEAST_PRECISION = 0.96;
const MOST_TAKEN = 0.002;

const SET = compileRuleSet("corpus", [...BUILT_IN_RULES]);
const measured = measure();
const innocentTexts = innocents();
const texts = [...positives(), ...innocentTexts].map(({ text }) => text);

test("the corpus has 2,000 texts with something to find, of 30 kinds, and 2,000 innocent ones", () => {
  expect(texts.length - innocentTexts.length).toBeGreaterThanOrEqual(2_000);
  expect(measured.kinds.length).toBeGreaterThanOrEqual(30);
  expect(new Set(innocentTexts.map(({ text }) => text)).size).toBeGreaterThanOrEqual(2_000);
  expect(new Set(measured.kinds.map(({ rule }) => rule))).toEqual(
    new Set(measured.rules.map(({ rule }) => rule)),
  );
});

test("the README states the sums of what the corpus measures", async () => {
  const readme = await readFile(new URL("../../../README.md", import.meta.url), "utf8");
  // `node packages/moderation/measure.ts` prints the tables, with each text that is missed or mistaken.
  for (const table of reportTables(measured)) {
    const [head, rule, ...rows] = table.split("\n");
    expect(readme).toContain([head, rule, rows.at(-1)].join("\n"));
  }
});

test.for(measured.kinds)("$kind is found", ({ texts: count, found }) => {
  expect(found / count).toBeGreaterThanOrEqual(LEAST_RECALL);
});

test.for(measured.rules)("what $rule finds is to be found", ({ right, wrong }) => {
  expect(right / (right + wrong)).toBeGreaterThanOrEqual(LEAST_PRECISION);
});

test("hardly an innocent text has a finding", () => {
  expect(measured.mistaken.length / innocentTexts.length).toBeLessThanOrEqual(MOST_TAKEN);
});

describe("streamed", () => {
  test("in single units, every text of the corpus gives the same findings, and none in what was settled", () => {
    for (const text of texts) {
      const scanner = SET.createScanner();
      const streamed: RuleFinding[] = [];
      let settled = 0;
      for (const unit of [...text.split(""), undefined]) {
        const found = unit === undefined ? scanner.end() : scanner.push(unit);
        const unsettled = found.every(({ from }) => from >= settled);
        if (!unsettled) expect.fail(`${JSON.stringify(text)}: settled up to ${settled}, then found`);
        streamed.push(...found);
        settled = scanner.length - scanner.pending;
      }
      expect(inOrder(streamed, text)).toEqual(scan(SET, [text]));
    }
  });

  test("in random pieces, every fifth gives the same findings", () => {
    for (const text of texts.filter((_, at) => at % 5 === 0)) {
      const draw = createDraw(seedOf(text));
      const places = draw.many(draw.number(1, 12), () => draw.number(0, text.length));
      expect(scan(SET, cut(text, places))).toEqual(scan(SET, [text]));
    }
  });
});

test("of an innocent text no more is held than an address may be long, of prose hardly more than a word", () => {
  const held = innocentTexts.flatMap(({ sort, text }) => {
    const scanner = SET.createScanner();
    return (text.match(/.{1,4}/gs) ?? []).map((piece) => {
      scanner.push(piece);
      return { sort, pending: scanner.pending };
    });
  });
  const prose = held.filter(({ sort }) => sort.startsWith("prose")).map(({ pending }) => pending);
  expect(Math.max(...held.map(({ pending }) => pending))).toBeLessThanOrEqual(64);
  expect(Math.max(...prose)).toBeLessThanOrEqual(16);
  expect(prose.reduce((sum, pending) => sum + pending, 0) / prose.length).toBeLessThan(2);
});
