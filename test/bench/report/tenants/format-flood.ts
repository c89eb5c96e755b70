import type { FloodResult } from "../../scenarios/tenants/flood.ts";
import { atMost, type Verdict } from "../claim.ts";
import { formatTable, ms } from "../table.ts";

export function formatFlood({ rows, requests, bodyBytes }: FloodResult): string {
  const cells = rows.map(({ senders, quiet, flood }) => [
    senders === 0 ? "alone" : `beside ${senders}`,
    ...[quiet.timeToFirstToken, quiet.interTokenLatency].flatMap(({ p50, p99, max }) =>
      [p50, p99, max].map(ms),
    ),
    String(requests - (quiet.ends["generation.completed"] ?? 0)),
    Object.entries(flood)
      .map(([status, count]) => `${count} x ${status === "0" ? "cut" : status}`)
      .join(", "),
  ]);
  const title = `FLOOD: ${requests} creates with their streams, beside another tenant's creates of ${bodyBytes} bytes: ms`;
  const header = [
    "",
    "first p50",
    "p99",
    "max",
    "between p50",
    "p99",
    "max",
    "not completed",
    "the flood's answers",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

/** How much later another tenant may be served. */
const TIMES = 3;

export function judgeFlood({ rows: [alone, ...disturbed], requests }: FloodResult): Verdict[] {
  return disturbed.flatMap(({ senders, quiet }) => {
    const first = quiet.timeToFirstToken.p99 / alone!.quiet.timeToFirstToken.p99;
    const between = quiet.interTokenLatency.p99 / alone!.quiet.interTokenLatency.p99;
    const lost = requests - (quiet.ends["generation.completed"] ?? 0);
    return [
      atMost("FLOOD", `beside ${senders}: first token, p99, of that alone`, first, TIMES, "x"),
      atMost("FLOOD", `beside ${senders}: between tokens, p99, of that alone`, between, TIMES, "x"),
      atMost("FLOOD", `beside ${senders}: not completed`, lost, 0, ""),
    ];
  });
}
