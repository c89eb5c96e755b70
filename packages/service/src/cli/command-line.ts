import type { Writable } from "node:stream";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { RepriseError } from "@reprise/protocol";

/** What a command of a CLI has of its process. */
export interface CommandIo {
  readonly out: Writable;
  readonly err: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type CommandOptions = NonNullable<ParseArgsConfig["options"]>;

/** @throws RepriseError `invalid_request` */
export function parseOptions<const O extends CommandOptions>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new RepriseError("invalid_request", (cause as Error).message, { cause });
  }
}

/** @throws RepriseError `invalid_request` */
export function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new RepriseError("invalid_request", `--${name} is missing.`);
  return value;
}
