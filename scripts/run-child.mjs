import { spawn } from "node:child_process";
import { once } from "node:events";
import { isatty } from "node:tty";

/**
 * Runs a program to its end; a signal that ends this process ends the program, and this process outlives it.
 *
 * A terminal sends Ctrl-C to every process of the foreground group, this child included, and programs take a second SIGINT to
 * mean "now"; so SIGINT and SIGHUP are passed on only where there is no terminal. SIGTERM has one addressee and always is.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options standard streams are this process's own unless they say otherwise
 * @returns {Promise<{ code: number, signal: null } | { code: null, signal: NodeJS.Signals }>}
 */
export async function runChild(file, args, options) {
  const child = spawn(file, args, { stdio: "inherit", ...options });
  const onTerminal = [0, 1, 2].some((fd) => isatty(fd));
  /** @param {NodeJS.Signals} signal */
  const passOn = (signal) => {
    if (signal === "SIGTERM" || !onTerminal) child.kill(signal);
  };
  process.on("SIGINT", passOn).on("SIGHUP", passOn).on("SIGTERM", passOn);
  try {
    const [code, signal] = await once(child, "exit");
    return { code, signal };
  } finally {
    process.off("SIGINT", passOn).off("SIGHUP", passOn).off("SIGTERM", passOn);
  }
}
