import { endWithReader } from "@reprise/runtime";
import { runCommand } from "./run-command.ts";

/* `reprise-admin <command>`: the end of every command is one of `EXIT`. */

endWithReader(process.stdout);
const { stdout: out, stderr: err, env, argv } = process;
process.exitCode = await runCommand(argv.slice(2), { out, err, env });
