import { RepriseError, toRepriseError } from "@reprise/protocol";
import { endWithReader } from "@reprise/service";
import { COMMANDS } from "./commands.ts";
import { EXIT } from "./command.ts";

/* `reprise-audit <command>`: the end of every command is one of `EXIT`. */

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

endWithReader(process.stdout);

if (!command) {
  const list = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(12)} ${summary}`);
  const asked = name === "--help";
  const text = `Usage: reprise-audit <command> [options]\n\n${list.join("\n")}\n`;
  (asked ? process.stdout : process.stderr).write(text);
  process.exitCode = asked ? EXIT.fine : EXIT.usage;
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
