import { readFile } from "node:fs/promises";

/** One request of a trace. */
export interface Arrival {
  /** Since the first arrival. */
  readonly atMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const HEADER = "AfterMs,ContextTokens,GeneratedTokens";

/**
 * Reads a trace of which each line has the milliseconds since the line before it.
 * @throws Error that names the line that is wrong
 */
export async function readArrivals(path: string | URL): Promise<Arrival[]> {
  const [header, ...lines] = (await readFile(path, "utf8")).trim().split("\n");
  if (header !== HEADER) throw new Error(`${String(path)} does not begin with "${HEADER}".`);
  let atMs = 0;
  return lines.map((line, index) => {
    const numbers = line.split(",").map(Number);
    const [afterMs, inputTokens, outputTokens] = numbers;
    if (numbers.length !== 3 || !numbers.every((number) => Number.isInteger(number) && number >= 0))
      throw new Error(`${String(path)}:${index + 2} is not "<ms>,<tokens>,<tokens>": ${line.slice(0, 80)}`);
    return { atMs: (atMs += afterMs!), inputTokens: inputTokens!, outputTokens: outputTokens! };
  });
}
