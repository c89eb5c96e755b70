import { asStreamSeq } from "@reprise/protocol";
import type { FilePlace } from "../../archiving/describe-file.ts";

const NAME =
  /^data\/tenant=([^/]+)\/dt=(\d{4}-\d{2}-\d{2})\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/;

/** Parses the key of a file, without its whole hash; undefined for a key that `dataKey` has not made. */
export function parseDataKey(key: string): FilePlace | undefined {
  const [, tenant, day, stream, first, last] = NAME.exec(key) ?? [];
  if (tenant === undefined || day === undefined || stream === undefined) return undefined;
  return { tenant, day, stream, first: asStreamSeq(Number(first)), last: asStreamSeq(Number(last)) };
}
