import type { Writable } from "node:stream";
import { RepriseError } from "@reprise/protocol";
import type { Command, CommanderError } from "commander";

/** The process of a command, as far as the command uses it. */
export interface CommandIo {
  readonly out: Writable;
  readonly err: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  exitCode: number;
}

/**
 * Runs a program of commander's, which writes its help and ends no process.
 * @throws RepriseError `invalid_request` for a wrong call; what the command throws
 */
export async function runProgram(
  program: Command,
  args: readonly string[],
  { out, err }: Pick<CommandIo, "out" | "err">,
): Promise<void> {
  const configure = (command: Command) => {
    command.exitOverride().configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      // The message is in the error.
      outputError: () => undefined,
    });
    command.commands.forEach(configure);
  };
  configure(program);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return;
    const isHelp = error.code === "commander.help";
    const message = isHelp ? "No command is named." : error.message.replace(/^error: /, "");
    throw new RepriseError("invalid_request", message, { cause: error });
  }
}

/** Reads the code, not the class: services that have no command line do not load commander. */
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}

/** Collects the values of an option that may be given more than once. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** The exit code of a command that SIGPIPE ends, which Node ignores. */
const CLOSED_PIPE = 141;

/** Ends the process with 141 when the reader of its output has closed the pipe: `reprise-audit search … | head`. */
export function endWithReader(out: Writable): void {
  out.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    // oxlint-disable-next-line unicorn/no-process-exit -- what is under way can tell its result to no reader
    process.exit(CLOSED_PIPE);
  });
}
