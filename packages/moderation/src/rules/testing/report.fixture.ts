import type { KindRow, Measurement, RuleRow, SortRow } from "./measure.fixture.ts";

const KINDS = "| rule | kind | texts | found whole | recall |\n|---|---|--:|--:|--:|";
const RULES = "| rule | findings on what is to be found | on anything else | precision |\n|---|--:|--:|--:|";
const SORTS = "| innocent texts | texts | with a finding |\n|---|--:|--:|";

/** The tables of the README, as Markdown. */
export function reportTables({ kinds, rules, sorts }: Measurement): string[] {
  return [
    table(
      KINDS,
      kinds.map(kindCells),
      kindCells({ rule: "all", kind: "", ...total(kinds, "texts", "found") }),
    ),
    table(RULES, rules.map(ruleCells), ruleCells({ rule: "all", ...total(rules, "right", "wrong") })),
    table(SORTS, sorts.map(sortCells), sortCells({ sort: "all", ...total(sorts, "texts", "taken") })),
  ];
}

function kindCells({ rule, kind, texts, found }: KindRow): unknown[] {
  return [rule, kind, texts, found, share(found, texts)];
}

function ruleCells({ rule, right, wrong }: RuleRow): unknown[] {
  return [rule, right, wrong, share(right, right + wrong)];
}

function sortCells({ sort, texts, taken }: SortRow): unknown[] {
  return [sort, texts, taken];
}

function table(head: string, rows: readonly unknown[][], sum: unknown[]): string {
  return [head, ...[...rows, sum].map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}

function total<K extends string>(rows: readonly Record<K, number>[], ...keys: K[]): Record<K, number> {
  const sum = (key: K): number => rows.reduce((most, row) => most + row[key], 0);
  return Object.fromEntries(keys.map((key) => [key, sum(key)])) as Record<K, number>;
}

/** In percent, rounded down: what is not perfect does not look it. */
function share(part: number, whole: number): string {
  return `${(Math.floor((1_000 * part) / whole) / 10).toFixed(1)} %`;
}
