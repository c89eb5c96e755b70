import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSseDecoder, decodeEvent } from "@reprise/protocol";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

export interface Document {
  readonly text: string;
  /** The one code block of a language that contains a text. @throws when there is none, or more than one */
  block(language: string, containing: string): string;
  /** The cells of each row of the one table with this head. @throws when there is none, or more than one */
  table(head: string): string[][];
}

/** @param path from the repository's root */
export function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), "utf8");
  const one = <T>(found: readonly T[], what: string): T => {
    if (found.length !== 1)
      throw new Error(`${path} has ${found.length} of what must be there once: ${what}`);
    return found[0]!;
  };
  return {
    text,
    block(language, containing) {
      const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
        .filter(([, name, code]) => name === language && code!.includes(containing))
        .map(([, , code]) => code!);
      return one(blocks, `a ${language} block with ${containing}`);
    },
    table(head) {
      const [, rows = ""] =
        one(text.split(`\n${head}\n`).slice(1), head).match(/^\|[-:| ]+\n((?:\|.*\n)*)/) ?? [];
      return rows
        .trimEnd()
        .split("\n")
        .map((row) =>
          row
            .split(/(?<!\\)\|/)
            .slice(1, -1)
            .map((cell) => cell.trim()),
        );
    },
  };
}

/** The events in what curl printed. */
export function eventsOf(stdout: string) {
  return createSseDecoder()
    .push(Buffer.from(stdout))
    .filter(({ data }) => data !== "")
    .map(({ id, data }) => ({ id, ...decodeEvent(data) }));
}
