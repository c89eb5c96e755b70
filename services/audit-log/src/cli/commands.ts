import type { Command } from "./command.ts";
import { exportEvents } from "./export.ts";
import { replay } from "./replay.ts";
import { search } from "./search.ts";
import { verify } from "./verify.ts";

/** In the order in which they are listed. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  verify,
  replay,
  search,
  export: exportEvents,
};
