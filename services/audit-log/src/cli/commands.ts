import type { Command } from "./command.ts";
import { verify } from "./verify.ts";

/** In the order in which they are listed. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  verify,
};
