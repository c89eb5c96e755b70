import type { Writable } from "node:stream";
import { RepriseError } from "@reprise/protocol";
import { type CommandIo, type CommandOptions, parseOptions } from "@reprise/service";

/** What every command's end says. */
export const EXIT = {
  fine: 0,
  /** The platform has refused the call: nothing was changed. */
  refused: 1,
  /** No answer, or a failure of the platform's: whether something was changed can't be told. */
  unknown: 4,
  /** The command was called wrongly: nothing was sent. */
  usage: 64,
} as const;

/** One of `reprise-admin`. */
export interface Command {
  /** One line. */
  readonly summary: string;
  /** Its arguments and options, as they are to be written. */
  readonly usage: string;
  /** @throws RepriseError `invalid_request` and `config_invalid` for a wrong call; RefusedError; `connection_lost` */
  run(args: readonly string[], io: CommandIo): Promise<void>;
}

/**
 * The options, and as many arguments as there are names for them.
 * @throws RepriseError `invalid_request`
 */
export function parseCall<const O extends CommandOptions>(
  args: readonly string[],
  names: readonly string[],
  options: O,
) {
  const { values, positionals } = parseOptions(args, options);
  const missing = names[positionals.length];
  if (missing !== undefined) throw new RepriseError("invalid_request", `<${missing}> is missing.`);
  // The argument itself may be a secret that was given by mistake.
  if (positionals.length > names.length)
    throw new RepriseError("invalid_request", `There are more arguments than ${names.length}.`);
  return { values, positionals };
}

/** @throws RepriseError `invalid_request` */
export function parseSeconds(value: string, name: string): number {
  if (/^[0-9]{1,9}$/.test(value)) return Number(value);
  throw new RepriseError("invalid_request", `--${name} must be a number of seconds.`);
}

export function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}

export function writeJson(stream: Writable, value: unknown): void {
  writeLine(stream, JSON.stringify(value, undefined, 2));
}
