import { RepriseError, toRepriseError } from "@reprise/protocol";
import { endWithReader, runProgram } from "@reprise/runtime";
import { EXIT } from "./command.ts";
import { createProgram } from "./commands.ts";

/* `reprise-audit <command>`: the end of every command is one of `EXIT`. */

endWithReader(process.stdout);

const { stdout: out, stderr: err, env, argv } = process;
const io = { out, err, env, exitCode: EXIT.fine };

try {
  await runProgram(createProgram(io), argv.slice(2), io);
  process.exitCode = io.exitCode;
} catch (error) {
  const { code, message } = toRepriseError(error);
  const shown = error instanceof RepriseError ? message : ((error as Error).stack ?? message);
  err.write(`${shown}\n`);
  const isUsage = code === "invalid_request" || code === "config_invalid" || code === "erasure_refused";
  if (isUsage) process.exitCode = EXIT.usage;
  else process.exitCode = code === "archive_corrupt" ? EXIT.tampered : EXIT.unknown;
}
