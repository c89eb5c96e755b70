import { isUtf8 } from "node:buffer";
import { LIMITS, RepriseError } from "@reprise/protocol";

interface Part {
  readonly value: object;
  /** Undefined for the body itself. */
  readonly parent: Part | undefined;
  readonly name: string;
}

/** A text without any of these has none of the names that are refused, however it is escaped. */
const SUSPECT = /__proto__|"constructor"|\\u/;
/** Names of a path that an error shows at most. */
const NAMED = 6;
const BYTE_ORDER_MARK = "\ufeff";

/**
 * Reads a body's text. JSON is UTF-8: replacements of other bytes would be stored as if the client had sent them.
 * @throws RepriseError `invalid_json`
 */
export function decodeBody(body: Buffer): string {
  if (isUtf8(body)) return body.toString("utf8");
  throw new RepriseError("invalid_json", "The body is not UTF-8.", { param: "body" });
}

/**
 * Parses JSON from a client. Refuses `__proto__`, and `constructor` with a `prototype` in it, at any depth: they are plain data in JSON, but any program that
 * later copies the data field by field would set an object's prototype.
 *
 * Depth and the number of names of one object are limited here for all routes, and also for fields that a route ignores: schemas, `JSON.stringify` and copies
 * recurse, and overflow the stack at some thousand levels.
 * @throws RepriseError `invalid_json`; `invalid_request`, which names the field
 */
export function parseJsonBody(text: string): unknown {
  const value = parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  if (!isObject(value)) return value;
  const excess = excessOf(value, LIMITS.bodyDepth);
  if (excess) throw tooMuch(excess);
  if (SUSPECT.test(text)) assertPlainNames(value);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RepriseError("invalid_json", "The body is not JSON.", { param: "body" });
  }
}

function assertPlainNames(body: object): void {
  const parts: Part[] = [{ value: body, parent: undefined, name: "" }];
  for (let part = parts.pop(); part; part = parts.pop()) {
    for (const [name, value] of Object.entries(part.value)) {
      if (name === "__proto__") throw refused({ value: part.value, parent: part, name });
      if (!isObject(value)) continue;
      const inner = { value, parent: part, name };
      if (name === "constructor" && Object.hasOwn(value, "prototype"))
        throw refused({ value, parent: inner, name: "prototype" });
      parts.push(inner);
    }
  }
}

interface Excess {
  /** Innermost first. */
  readonly path: string[];
  readonly problem: string;
}

/** Recurses at most `depth` deep. Looks at each value once, and copies none. */
function excessOf(value: object, depth: number): Excess | undefined {
  if (depth === 0) return { path: [], problem: `nests more than ${LIMITS.bodyDepth} deep` };
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  if (names && names.length > LIMITS.bodyNames)
    return { path: [], problem: `has ${names.length} names, and may have ${LIMITS.bodyNames}` };
  const parts = value as Readonly<Record<string | number, unknown>>;
  const length = names?.length ?? (value as readonly unknown[]).length;
  for (let i = 0; i < length; i++) {
    const name = names?.[i] ?? i;
    const part = parts[name];
    const excess = isObject(part) ? excessOf(part, depth - 1) : undefined;
    if (!excess) continue;
    excess.path.push(`${name}`);
    return excess;
  }
  return undefined;
}

/** For a deep path the first names are enough. */
function tooMuch({ path, problem }: Excess): RepriseError {
  const param = path.toReversed().slice(0, NAMED).join(".") || "body";
  return new RepriseError("invalid_request", `${param}: ${problem}; a body is refused for it in any field.`, {
    param,
  });
}

function refused(part: Part): RepriseError {
  const names: string[] = [];
  for (let at = part; at.parent; at = at.parent) names.push(at.name);
  const param = names.toReversed().join(".");
  return new RepriseError("invalid_request", `${param}: this name is not allowed in a body.`, { param });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
