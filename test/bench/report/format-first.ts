import { FIRST_TERMS } from "../load/first-terms.ts";
import type { FirstResult, FirstRow } from "../scenarios/first.ts";
import { atMost, type Verdict } from "./claim.ts";
import { formatTable } from "./table.ts";

const cell = (ms: number | undefined) => (ms === undefined ? "" : ms.toFixed(2));
const nameOf = ({ target, isLoaded }: FirstRow) => (isLoaded ? `${target}, loaded` : target);

export function formatFirst({ calls, rows }: FirstResult): string {
  const ends = rows.map((row) => {
    const { create, first } = row;
    return [nameOf(row), cell(create.p50), cell(create.p99), cell(first.p50), cell(first.p99)];
  });
  const terms = rows
    .filter((row) => Object.keys(row.terms).length > 0)
    .map((row) => [nameOf(row), ...FIRST_TERMS.map((term) => cell(row.terms[term]))]);
  const title = `FIRST: ${calls} creates, each answered with its stream: ms to the first delta, beside a create alone`;
  const byTerm = terms.length > 0 ? [formatTable(["p50 by term", ...FIRST_TERMS], terms)] : [];
  return [title, formatTable(["", "create p50", "p99", "first delta p50", "p99"], ends), ...byTerm].join(
    "\n",
  );
}

export function judgeFirst({ rows }: FirstResult): Verdict[] {
  const own = rows.find(({ target, isLoaded }) => target === "reprise" && !isLoaded);
  if (!own) return [];
  return [
    atMost("FIRST", "create to first delta in one call, p50", own.first.p50 / own.create.p50, 2, "creates"),
  ];
}
