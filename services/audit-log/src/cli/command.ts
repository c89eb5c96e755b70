import type { Writable } from "node:stream";
import type { CommandIo } from "@reprise/runtime";
import type { Command } from "commander";

/** The exit codes of every command. */
export const EXIT = {
  fine: 0,
  /** The archive is not as it was written, or a proof is wrong. */
  tampered: 2,
  /** Something was gone before it could be archived. */
  gap: 3,
  /** It can't be told: something that is needed is not there. */
  unknown: 4,
  /** The command was called wrongly, or refuses. */
  usage: 64,
} as const;

/**
 * Makes one of `reprise-audit`'s commands, which leaves its exit code in `io`.
 *
 * It throws RepriseError: `invalid_request` and `config_invalid` for a wrong call, `archive_corrupt`, `archive_unavailable`.
 */
export type MakeCommand = (io: CommandIo) => Command;

/** Writes, and waits until the reader of the pipe has caught up. */
export async function write(stream: Writable, text: string | Uint8Array): Promise<void> {
  if (stream.write(text)) return;
  await new Promise<void>((resolve) => stream.once("drain", resolve));
}

export function writeLine(stream: Writable, line: string): Promise<void> {
  return write(stream, `${line}\n`);
}
