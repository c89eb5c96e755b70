import type { Writable } from "node:stream";
import type { CommandIo } from "@reprise/service";

/** What every command's end says. */
export const EXIT = {
  fine: 0,
  /** Records do not agree. */
  different: 1,
  /** The command was called wrongly. */
  usage: 2,
  /** It can't be told: something that is needed can't be read. */
  unknown: 3,
} as const;

/** One of `reprise-usage`. */
export interface Command {
  /** One line. */
  readonly summary: string;
  /** The options, as they are to be written. */
  readonly usage: string;
  /**
   * @returns an exit code
   * @throws RepriseError: `invalid_request` and `config_invalid` for a wrong call, `archive_corrupt`, `archive_unavailable`
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

export function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}
