import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { blob } from "./commands/blob.ts";
import { checkProof } from "./commands/check-proof.ts";
import { erase } from "./commands/erase.ts";
import { exportEvents } from "./commands/export.ts";
import { hold } from "./commands/hold.ts";
import { prove } from "./commands/prove.ts";
import { replay } from "./commands/replay.ts";
import { rewrap } from "./commands/rewrap.ts";
import { search } from "./commands/search.ts";
import { verify } from "./commands/verify.ts";

/** Lists its commands in this order. */
export function createProgram(io: CommandIo): Command {
  const program = new Command("reprise-audit");
  const commands = [verify, prove, checkProof, replay, search, exportEvents, blob, erase, hold, rewrap];
  for (const make of commands) program.addCommand(make(io));
  return program;
}
