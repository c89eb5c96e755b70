import type { Difference } from "../reconcile/difference.ts";
import type { NotCompared, Reconciliation } from "../reconcile/reconcile.ts";
import type { UsageTotal } from "../reconcile/usage-totals.ts";

const COLUMNS: readonly (keyof UsageTotal)[] = [
  "tenant",
  "model",
  "record",
  "generations",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "output_tokens_kept",
  "reasoning_tokens",
];

const REASONS: Readonly<Record<NotCompared, string>> = {
  running: "are running, or have no end in the archive",
  erased: "are erased from the archive",
  deleted_by_retention: "are no longer in the archive, by its retention",
  not_archived_yet: "ended after what the archive has read",
  no_row_yet: "ended after what analytics has read",
  not_delivered_yet: "are not in the usage files yet",
};

/** For people: totals, each difference, and what was not compared. */
export function toReport(
  { compared, differences, notCompared, totals }: Reconciliation,
  listed: readonly Difference[],
): string[] {
  const table = totals.length > 0 ? [...toTable(totals), ""] : [];
  const more = differences - listed.length;
  const left = Object.entries(notCompared).filter(([, count]) => count > 0);
  return [
    ...table,
    ...listed.map(toLine),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...left.map(([reason, count]) => `not compared: ${count} ${REASONS[reason as NotCompared]}`),
    `${differences === 0 ? "no" : differences} difference${differences === 1 ? "" : "s"} in ${compared} generations`,
  ];
}

function toLine({ kind, tenant, generation, ended_at: endedAt, fields = {} }: Difference): string {
  const values = Object.entries(fields).map(
    ([name, { archive, found }]) => `${name} ${show(found)}, archive ${show(archive)}`,
  );
  const when = endedAt === undefined ? "" : ` ended ${endedAt}`;
  return `${kind} ${tenant} ${generation}${when}${values.length > 0 ? `: ${values.join("; ")}` : ""}`;
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toTable(totals: readonly UsageTotal[]): string[] {
  const rows = [[...COLUMNS], ...totals.map((total) => COLUMNS.map((name) => String(total[name])))];
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row, at) =>
    row
      .map((cell, i) =>
        at > 0 && typeof totals[0]?.[COLUMNS[i] ?? "tenant"] === "number"
          ? cell.padStart(widths[i] ?? 0)
          : cell.padEnd(widths[i] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
