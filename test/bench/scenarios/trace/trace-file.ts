import { readFile } from "node:fs/promises";

/** One request of a trace. */
export interface Arrival {
  /** Since the first arrival. */
  readonly atMicros: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens";

/**
 * Reads a trace in the schema of Azure's public ones.
 * @throws Error that names the line that is wrong
 */
export async function readTrace(path: string): Promise<Arrival[]> {
  const [header, ...lines] = (await readFile(path, "utf8")).trim().split(/\r?\n/);
  if (header !== HEADER)
    throw new Error(`${path} begins with "${header?.slice(0, 80)}", not with "${HEADER}".`);
  const rows = lines.map((line, index) => parseRow(line) ?? fail(path, index + 2, line));
  const [first] = rows;
  return rows.map((row) => ({ ...row, atMicros: row.atMicros - first!.atMicros }));
}

function parseRow(line: string): Arrival | undefined {
  const [timestamp = "", input, output] = line.split(",");
  // Fractions of a second beyond the third digit are not ISO 8601 for every engine.
  const [, second, fraction = "0"] = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)?$/.exec(timestamp) ?? [];
  const atMicros = Date.parse(`${second?.replace(" ", "T")}Z`) * 1e3 + Number(fraction) * 1e6;
  const [inputTokens, outputTokens] = [Number(input), Number(output)];
  const ok =
    Number.isFinite(atMicros) && inputTokens >= 0 && outputTokens >= 0 && line.split(",").length === 3;
  return ok ? { atMicros, inputTokens, outputTokens } : undefined;
}

function fail(path: string, lineNumber: number, line: string): never {
  throw new Error(`${path}:${lineNumber} is not "<time>,<tokens>,<tokens>": ${line.slice(0, 80)}`);
}
