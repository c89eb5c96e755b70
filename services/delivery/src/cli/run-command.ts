import { RepriseError, toRepriseError } from "@reprise/protocol";
import { type CommandIo, runProgram } from "@reprise/runtime";
import { Command } from "commander";
import { RefusedError } from "./admin-api.ts";
import { EXIT, writeLine } from "./command.ts";
import { addAnalyticsCommands } from "./commands/analytics.ts";
import { addBudgetsCommands } from "./commands/budgets.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addSigningKeyCommands } from "./commands/signing-key.ts";
import { addTenantCommands } from "./commands/tenant.ts";
import { addTokenCommands } from "./commands/token.ts";
import { addTokenKeyCommands } from "./commands/token-key.ts";

const FIRST_SERVER_ERROR = 500;

/** Runs what a command line says. @returns one of `EXIT` */
export async function runCommand(
  args: readonly string[],
  given: Omit<CommandIo, "exitCode">,
): Promise<number> {
  const io = { ...given, exitCode: EXIT.fine };
  try {
    await runProgram(createProgram(io), args, io);
    return EXIT.fine;
  } catch (error) {
    if (error instanceof RefusedError) {
      writeLine(io.err, error.message);
      return error.status < FIRST_SERVER_ERROR ? EXIT.refused : EXIT.unknown;
    }
    const { code, message } = toRepriseError(error);
    writeLine(io.err, error instanceof RepriseError ? message : ((error as Error).stack ?? message));
    return code === "invalid_request" || code === "config_invalid" ? EXIT.usage : EXIT.unknown;
  }
}

function createProgram(io: CommandIo): Command {
  const program = new Command("reprise-admin").addHelpText(
    "after",
    "\nREPRISE_URL names the platform, and REPRISE_ADMIN_KEY has the key.",
  );
  addTenantCommands(program, io);
  addKeyCommands(program, io);
  addSigningKeyCommands(program, io);
  addTokenCommands(program, io);
  addTokenKeyCommands(program, io);
  addBudgetsCommands(program, io);
  addAnalyticsCommands(program, io);
  return program;
}
