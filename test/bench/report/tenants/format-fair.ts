import type { FairResult, FairRow } from "../../scenarios/tenants/fair.ts";
import { atMost, type Verdict } from "../claim.ts";
import { formatTable, ms } from "../table.ts";

const BAR_CHARS = 40;

export function formatFair({ rows, requests, slots, backlogSeconds }: FairResult): string {
  const most = Math.max(...rows.map(({ quiet }) => quiet.timeToFirstToken.p99));
  const cells = rows.map(({ reserve, backlog, quiet }) => [
    `reserve ${reserve}, ${backlog === 0 ? "alone" : `beside ${backlog}`}`,
    ...[quiet.timeToFirstToken.p50, quiet.timeToFirstToken.p99, quiet.timeToFirstToken.max].map(ms),
    String(requests - completed(quiet)),
    "#".repeat(Math.max(1, Math.round((quiet.timeToFirstToken.p99 / most) * BAR_CHARS))),
  ]);
  const title = `FAIR: ${requests} creates, 2/s, with their streams, ${slots} slots, beside another tenant's queue of generations of ${backlogSeconds} s: ms to the first token`;
  return `${title}\n${formatTable(["", "p50", "p99", "max", "not completed", "p99"], cells)}`;
}

/** How much later another tenant may be served where a part of the slots is reserved. */
const TIMES = 1.2;

export function judgeFair({ rows, requests }: FairResult): Verdict[] {
  return rows
    .filter(({ backlog, reserve }) => backlog > 0 && reserve > 0)
    .flatMap(({ reserve, quiet }) => {
      const alone = rows.find((row) => row.reserve === reserve && row.backlog === 0);
      if (!alone) return [];
      const times = quiet.timeToFirstToken.p99 / alone.quiet.timeToFirstToken.p99;
      return [
        atMost("FAIR", "beside another tenant's backlog: first token, p99, of that alone", times, TIMES, "x"),
        atMost("FAIR", "beside another tenant's backlog: not completed", requests - completed(quiet), 0, ""),
      ];
    });
}

function completed({ ends }: FairRow["quiet"]): number {
  return ends["generation.completed"] ?? 0;
}
