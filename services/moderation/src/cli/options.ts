import { parseArgs } from "node:util";
import {
  type GenerationId,
  parseGenerationId,
  parseTenantId,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";

interface Scope {
  readonly tenant: TenantId;
  /** Undefined: all that are kept. */
  readonly generation: GenerationId | undefined;
}

export type CliOptions =
  | ({ readonly command: "coverage" } & Scope)
  | ({ readonly command: "rejudge"; readonly rulesFile: string; readonly apply: boolean } & Scope);

export const USAGE = `Usage, with REPRISE_NATS_URL set or beside a running \`npm start\`:
  npm run moderation -- coverage --tenant <id> [--generation <id>]
      which events were judged by which rules; exits with 1 when one was not judged
  npm run moderation -- rejudge --tenant <id> [--generation <id>] --rules <file.json> [--apply]
      what other rules would find: a JSON array as in policy.moderation.rules; --apply has the logs say so`;

/** @throws RepriseError `invalid_request` */
export function parseCliOptions(args: readonly string[]): CliOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      tenant: { type: "string" },
      generation: { type: "string" },
      rules: { type: "string" },
      apply: { type: "boolean", default: false },
    },
  });
  const [command, ...more] = positionals;
  if ((command !== "coverage" && command !== "rejudge") || more.length > 0) throw wrong("name one command");
  if (values.tenant === undefined) throw wrong("--tenant is missing");
  const scope: Scope = {
    tenant: parseTenantId(values.tenant),
    generation: values.generation === undefined ? undefined : parseGenerationId(values.generation),
  };
  if (command === "coverage") return { command, ...scope };
  if (values.rules === undefined) throw wrong("--rules is missing");
  return { command, ...scope, rulesFile: values.rules, apply: values.apply };
}

function wrong(message: string): RepriseError {
  return new RepriseError("invalid_request", message);
}
