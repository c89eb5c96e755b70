import { RepriseError, toRepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/service";
import { RefusedError } from "./admin-api.ts";
import { EXIT, writeLine } from "./command.ts";
import { COMMANDS } from "./commands.ts";

const FIRST_SERVER_ERROR = 500;

/** Runs what a command line says. @returns one of `EXIT` */
export async function runCommand(
  [noun = "", verb = "", ...args]: readonly string[],
  io: CommandIo,
): Promise<number> {
  const name = `${noun} ${verb}`;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    const list = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(18)} ${summary}`);
    const asked = noun === "--help";
    const out = asked ? io.out : io.err;
    writeLine(out, `Usage: reprise-admin <command> [arguments]\n\n${list.join("\n")}`);
    writeLine(
      out,
      "\nREPRISE_URL names the platform, and REPRISE_ADMIN_KEY has the key. `--help` behind a command lists its options.",
    );
    return asked ? EXIT.fine : EXIT.usage;
  }
  if (args.includes("--help")) {
    writeLine(io.out, `${command.summary}\n\n${command.usage}`);
    return EXIT.fine;
  }
  try {
    await command.run(args, io);
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
