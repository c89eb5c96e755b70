import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

/** Reads what a service logs. What is no JSON is left out: a process that is killed may have come to the middle of a line. */
export function readLogLines(output: Readable, onLine: (line: LogLine) => void): void {
  createInterface({ input: output }).on("line", (text) => {
    const line = parseLine(text);
    if (line) onLine(line);
  });
}

function parseLine(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}
