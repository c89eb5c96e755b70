import { RepriseError } from "@reprise/protocol";

interface Part {
  readonly value: object;
  /** Undefined for the body itself. */
  readonly parent: Part | undefined;
  readonly name: string;
}

/** A text without any of these has none of the names that are refused, however it is escaped. */
const SUSPECT = /__proto__|"constructor"|\\u/;
const BYTE_ORDER_MARK = "\ufeff";

/**
 * JSON from a client. `__proto__`, and `constructor` with a `prototype` in it, are names of plain data in JSON, and of an object's prototype
 * wherever a program copies that data field by field: they are refused where they stand, however deep, and not left to every later copy.
 * @throws RepriseError `invalid_json`; `invalid_request`, which names the field
 */
export function parseJsonBody(text: string): unknown {
  const value = parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  if (SUSPECT.test(text) && isObject(value)) assertPlainNames(value);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RepriseError("invalid_json", "The body is not JSON.", { param: "body" });
  }
}

/** Without recursion: a body may nest half a million deep. */
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

function refused(part: Part): RepriseError {
  const names: string[] = [];
  for (let at = part; at.parent; at = at.parent) names.push(at.name);
  const param = names.toReversed().join(".");
  return new RepriseError("invalid_request", `${param}: this name is not allowed in a body.`, { param });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
