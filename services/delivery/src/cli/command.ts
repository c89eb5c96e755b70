import type { Writable } from "node:stream";
import { RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import type { Command } from "commander";

/** The exit codes of every command. */
export const EXIT = {
  fine: 0,
  /** The platform has refused the call: nothing was changed. */
  refused: 1,
  /** No answer, or a failure of the platform's: whether something was changed can't be told. */
  unknown: 4,
  /** The command was called wrongly: nothing was sent. */
  usage: 64,
} as const;

/** Adds the commands of one noun to `reprise-admin`. */
export type AddCommands = (program: Command, io: CommandIo) => void;

export interface JsonOption {
  readonly json?: true;
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
