import { type AuditSearch, auditSearchSchema, parseWith, RepriseError } from "@reprise/protocol";
import { collect } from "@reprise/runtime";
import type { Command } from "commander";

/** Adds the options that select generations. */
export function withSearch(command: Command): Command {
  return command
    .requiredOption("--tenant <id>", "whose generations")
    .option("--from <time>", "created at or after: 2026-11-21 or 2026-11-21T12:00:00Z")
    .option("--to <time>", "created before")
    .option("--model <model>", "as the request names it")
    .option("--status <status>", "open, completed, failed or cancelled")
    .option("--metadata <key=value>", "of the request; more than once for pairs that are all there", collect)
    .option("--subject <subject>", "of the request");
}

export interface SearchValues {
  readonly tenant: string;
  readonly from?: string;
  readonly to?: string;
  readonly model?: string;
  readonly status?: string;
  readonly metadata?: readonly string[];
  readonly subject?: string;
  readonly limit?: string;
  readonly after?: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @throws RepriseError `invalid_request` */
export function toSearch(values: SearchValues): AuditSearch {
  const { tenant, from, to, model, status, metadata, subject, limit, after } = values;
  return parseWith(
    auditSearchSchema,
    {
      tenant,
      ...(from !== undefined && { from: toTime(from) }),
      ...(to !== undefined && { to: toTime(to) }),
      ...(model !== undefined && { model }),
      ...(status !== undefined && { status }),
      ...(metadata && { metadata: Object.fromEntries(metadata.map(toPair)) }),
      ...(subject !== undefined && { subject }),
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(after !== undefined && { after }),
    },
    "options",
  );
}

/** Returns the part of a search that is recorded: no subject, and of metadata only the keys. */
export function toRecordedQuery({
  from,
  to,
  model,
  status,
  metadata,
  subject,
}: AuditSearch): Record<string, string> {
  const fields = {
    from,
    to,
    model,
    status,
    metadata: metadata && Object.keys(metadata).join(" "),
    subject: subject === undefined ? undefined : "given",
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

function toTime(text: string): string {
  return DAY.test(text) ? `${text}T00:00:00Z` : text;
}

function toPair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new RepriseError("invalid_request", `--metadata ${text} is not <key>=<value>.`);
  return [text.slice(0, at), text.slice(at + 1)];
}
