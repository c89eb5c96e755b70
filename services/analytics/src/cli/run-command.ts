import { RepriseError, toRepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/service";
import { type Command, EXIT, writeLine } from "./command.ts";
import { adoptRows } from "./adopt-rows.ts";
import { rebuildUsage } from "./rebuild-usage.ts";
import { reconcileUsage } from "./reconcile-usage.ts";

const COMMANDS: Readonly<Record<string, Command>> = {
  reconcile: reconcileUsage,
  rebuild: rebuildUsage,
  adopt: adoptRows,
};

/** Runs what a command line says. @returns one of `EXIT` */
export async function runCommand([name = "", ...args]: readonly string[], io: CommandIo): Promise<number> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    const asked = name === "--help";
    const list = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(12)} ${summary}`);
    writeLine(asked ? io.out : io.err, `Usage: reprise-usage <command> [options]\n\n${list.join("\n")}`);
    return asked ? EXIT.fine : EXIT.usage;
  }
  if (args.includes("--help")) {
    writeLine(io.out, `reprise-usage ${name}: ${command.summary}\n\n${command.usage}`);
    return EXIT.fine;
  }
  try {
    return await command.run(args, io);
  } catch (error) {
    const { code, message } = toRepriseError(error);
    writeLine(io.err, error instanceof RepriseError ? message : ((error as Error).stack ?? message));
    return code === "invalid_request" || code === "config_invalid" ? EXIT.usage : EXIT.unknown;
  }
}
