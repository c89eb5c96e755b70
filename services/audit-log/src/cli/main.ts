import { RepriseError, toRepriseError } from "@reprise/protocol";
import { COMMANDS } from "./commands.ts";
import { EXIT } from "./command.ts";

/* `reprise-audit <command>`: the end of every command is one of `EXIT`. */

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

// The reader of the pipe has seen enough: `reprise-audit replay … | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.kill(process.pid, "SIGPIPE");
});

if (!command) {
  const list = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(12)} ${summary}`);
  process.stderr.write(`Usage: reprise-audit <command> [options]\n\n${list.join("\n")}\n`);
  process.exitCode = EXIT.usage;
} else if (args.includes("--help")) {
  process.stdout.write(`reprise-audit ${name}: ${command.summary}\n\n${command.usage}\n`);
} else {
  try {
    process.exitCode = await command.run(args, {
      out: process.stdout,
      err: process.stderr,
      env: process.env,
    });
  } catch (error) {
    const { code, message } = toRepriseError(error);
    const shown = error instanceof RepriseError ? message : ((error as Error).stack ?? message);
    process.stderr.write(`${shown}\n`);
    const isUsage = code === "invalid_request" || code === "config_invalid" || code === "erasure_refused";
    if (isUsage) process.exitCode = EXIT.usage;
    else process.exitCode = code === "archive_corrupt" ? EXIT.tampered : EXIT.unknown;
  }
}
