import { checkProof } from "./check-proof.ts";
import type { Command } from "./command.ts";
import { erase } from "./erase.ts";
import { drill } from "./drill.ts";
import { exportEvents } from "./export.ts";
import { hold } from "./hold.ts";
import { prove } from "./prove.ts";
import { replay } from "./replay.ts";
import { rewrap } from "./rewrap.ts";
import { search } from "./search.ts";
import { verify } from "./verify.ts";

/** In the order in which they are listed. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  verify,
  prove,
  "check-proof": checkProof,
  replay,
  search,
  export: exportEvents,
  drill,
  erase,
  hold,
  rewrap,
};
