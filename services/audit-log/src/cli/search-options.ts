import type { ParseArgsConfig } from "node:util";
import { type AuditSearch, auditSearchSchema, parseWith, RepriseError } from "@reprise/protocol";
import { required } from "@reprise/service";
import type { ValuesOf } from "./options.ts";

/** Which generations a command is about. */
export const SEARCH_OPTIONS = {
  tenant: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  model: { type: "string" },
  status: { type: "string" },
  metadata: { type: "string", multiple: true },
  subject: { type: "string" },
} as const satisfies ParseArgsConfig["options"];

export const SEARCH_USAGE = `  --tenant <id>
  --from <time> --to <time>   created at or after, and before: 2026-11-21 or 2026-11-21T12:00:00Z
  --model <model>             as the request names it
  --status <status>           open, completed, failed or cancelled
  --metadata <key>=<value>    of the request; more than once for pairs that are all there
  --subject <subject>         of the request`;

export interface SearchValues extends ValuesOf<typeof SEARCH_OPTIONS> {
  readonly limit?: string | undefined;
  readonly after?: string | undefined;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @throws RepriseError `invalid_request` */
export function toSearch({ tenant, metadata, from, to, limit, ...rest }: SearchValues): AuditSearch {
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return parseWith(
    auditSearchSchema,
    {
      ...given,
      tenant: required(tenant, "tenant"),
      ...(from !== undefined && { from: toTime(from) }),
      ...(to !== undefined && { to: toTime(to) }),
      ...(metadata && { metadata: Object.fromEntries(metadata.map(toPair)) }),
      ...(limit !== undefined && { limit: Number(limit) }),
    },
    "options",
  );
}

/** What of a search is recorded: no subject, and of metadata only what is asked about. */
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
