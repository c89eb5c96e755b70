import { blob } from "./commands/blob.ts";
import { checkProof } from "./commands/check-proof.ts";
import type { Command } from "./command.ts";
import { erase } from "./commands/erase.ts";
import { exportEvents } from "./commands/export.ts";
import { hold } from "./commands/hold.ts";
import { prove } from "./commands/prove.ts";
import { replay } from "./commands/replay.ts";
import { rewrap } from "./commands/rewrap.ts";
import { search } from "./commands/search.ts";
import { verify } from "./commands/verify.ts";

/** In the order in which they are listed. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  verify,
  prove,
  "check-proof": checkProof,
  replay,
  search,
  export: exportEvents,
  blob,
  erase,
  hold,
  rewrap,
};
