import { LIMITS, RepriseError } from "@reprise/protocol";

const METADATA = /^metadata\[(.+)\]$/s;

export interface SplitQuery {
  /** Filters from `metadata[<name>]=<value>`. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** The other parameters. */
  readonly plain: Readonly<Record<string, unknown>>;
}

/**
 * Takes the pairs of metadata out of a query.
 * @param query the parameters, a list where one is there several times
 * @throws RepriseError `invalid_request` that names the parameter
 */
export function splitMetadata(query: unknown): SplitQuery {
  const all = Object.entries(query as Record<string, unknown>);
  const pairs = all.flatMap(([name, value]) => {
    const key = METADATA.exec(name)?.[1];
    return key === undefined ? [] : [[key, parseValue(name, key, value)] as const];
  });
  if (pairs.length > LIMITS.metadataPairs)
    throw invalid("metadata", `metadata: must have at most ${LIMITS.metadataPairs} pairs`);
  return {
    metadata: pairs.length > 0 ? Object.fromEntries(pairs) : undefined,
    plain: Object.fromEntries(all.filter(([name]) => !METADATA.test(name))),
  };
}

function parseValue(param: string, key: string, value: unknown): string {
  if (key.length > LIMITS.metadataKeyLength)
    throw invalid(param, `metadata: a name has at most ${LIMITS.metadataKeyLength} characters`);
  if (typeof value === "string" && value.length <= LIMITS.metadataValueLength) return value;
  throw invalid(param, `${param}: must be one text of at most ${LIMITS.metadataValueLength} characters`);
}

function invalid(param: string, message: string): RepriseError {
  return new RepriseError("invalid_request", message, { param });
}
