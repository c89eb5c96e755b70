import { hash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import { must } from "./notes.ts";
import { hashLeaf, toLeafData } from "./tree.ts";

/* §4 of packages/archive/FORMAT.md, for the independent verifier. */

// What is read is untrusted: every use of it is checked, so its type says nothing.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

const REQUIRED = "generation kind stream epoch first_seq last_seq events first_at last_at".split(" ");
const OPTIONAL = "model status output_tokens tags".split(" ");

/** @throws Error when it is not what its commit says of it. @param file as the commit has it */
export async function readSegments(
  connection: DuckDBConnection,
  path: string,
  file: Json,
): Promise<{ header: Json; text: string; sealed: Buffer; leaf: Buffer }[]> {
  must(existsSync(path) && statSync(path).size === file.bytes, "4.1: size");
  must(hash("sha256", readFileSync(path), "hex") === file.sha256, "4.1: hash");
  const rows = (await connection.runAndReadAll(queryOf(path))).getRowObjects() as Json[];
  const headers = rows.map(({ header }) => JSON.parse(header));
  const [, stream, first, last, digits] =
    /\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/.exec(path) ?? [];
  must(digits === file.sha256.slice(0, 12), "2: key");
  for (const [i, header] of headers.entries()) {
    must(header.stream === stream && header.first_stream_seq >= Number(first), "4.3: stream");
    must(header.last_stream_seq <= Number(last), "4.3: place");
    must(i === 0 || compare(headers[i - 1], header) <= 0, "4.1: order");
    for (const name of [...REQUIRED, ...OPTIONAL])
      must(String(rows[i][`column_${name}`]) === String(header[name] ?? null), `4.1: ${name}`);
  }
  must(rows.length === file.segments, "3.4: segments");
  must(sum(headers.map(({ events }) => events)) === file.events, "3.4: events");
  must(
    headers.every((header) => header.first_at >= file.first_at && header.last_at <= file.last_at),
    "3.4: times",
  );
  const prints = headers.map(({ generation }) => hash("sha256", generation, "hex").slice(0, 8));
  const once = [...new Set(prints)].toSorted().join("");
  must(Buffer.from(once, "hex").toString("base64") === file.generations, "3.4: generations");
  return rows.map(({ header: text, sealed: { bytes } }, i) => {
    const sealed = Buffer.from(bytes);
    return { header: headers[i], text, sealed, leaf: hashLeaf(toLeafData(Buffer.from(text), sealed)) };
  });
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Times as microseconds: a timestamp of DuckDB is none of JavaScript. */
function queryOf(path: string): string {
  const columns = [...REQUIRED, ...OPTIONAL].map((name) =>
    name.endsWith("_at") ? `epoch_us(${name}) AS column_${name}` : `${name} AS column_${name}`,
  );
  return `SELECT header, sealed, ${columns.join(", ")} FROM read_parquet('${path.replaceAll("'", "''")}')`;
}

function compare(a: Json, b: Json): number {
  for (const field of ["generation", "kind", "epoch", "first_seq", "first_stream_seq"])
    if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1;
  return 0;
}
