import type { Writable } from "node:stream";

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
