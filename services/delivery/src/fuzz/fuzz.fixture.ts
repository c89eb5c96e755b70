import { type ErrorCode, RepriseError, toErrorBody, toHttpStatus } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect } from "vitest";

/** Values that each parser of outside input is given. */
const CASES = 10_000;
/** The same values in each run: how long a parser takes for one, and whether it is refused, does not change from run to run. Another seed is another search. */
export const SEED = 20_261_122;
/** The least share of values that a parser accepts, and that it refuses: fewer would test only its first check. */
const LEAST_SHARE = 0.02;

export interface Parser<Input, Output> {
  readonly parse: (input: Input) => Output;
  /** Checks an accepted value; throws if an invariant does not hold. */
  readonly check: (output: Output, input: Input) => void;
  /** The codes that a refusal may have. Default: those of a client's mistake. */
  readonly mayRefuse?: (code: ErrorCode) => boolean;
  /** For a parser that ignores what it can't read. Default: refusals are errors. */
  readonly isRefusal?: (output: Output) => boolean;
}

const isClientError = (code: ErrorCode) => toHttpStatus(code) < 500;

/** Each value is taken, and `check` holds of the result, or is refused by an error that says that the client is wrong. */
export function fuzz<Input, Output>(
  inputs: fc.Arbitrary<Input>,
  { parse, check, mayRefuse = isClientError, isRefusal = () => false }: Parser<Input, Output>,
): void {
  let taken = 0;
  const run = (input: Input) => {
    let output: Output;
    try {
      output = parse(input);
    } catch (error) {
      if (!(error instanceof RepriseError) || !mayRefuse(error.code)) throw error;
      if (JSON.stringify(toErrorBody(error)).length > 16_384)
        throw new Error("the refusal is too long", { cause: error });
      return;
    }
    check(output, input);
    if (!isRefusal(output)) taken++;
  };
  fc.assert(fc.property(inputs, run), { numRuns: CASES, seed: SEED });
  expect(taken / CASES).toBeGreaterThan(LEAST_SHARE);
  expect(taken / CASES).toBeLessThan(1 - LEAST_SHARE);
}

/** JSON values: valid ones, those that differ from a valid one in one place, and any. */
export function nearly(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const changed = fc
    .tuple(valid, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), anyChange)
    .map(([value, steps, change]) => changeAt(value, steps, change));
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 6, arbitrary: changed },
    { weight: 1, arbitrary: fc.oneof(fc.jsonValue(), fc.anything()) },
  );
}

/** Texts: valid ones, those that differ from a valid one in one place, and any. */
export function nearlyText(valid: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom("", " ", "\t", "\n", "\0", ",", ";", "=", '"', "%", ".", "-", "0", "é", "\ud800", "🙂"),
  );
  const changed = fc.tuple(valid, fc.nat(), fc.nat(2), piece).map(([text, place, length, by]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + by + text.slice(at + length);
  });
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 6, arbitrary: changed },
    { weight: 1, arbitrary: fc.oneof(fc.string(), fc.string({ unit: "binary" })) },
  );
}

interface Change {
  /** Name of the field to add, if the place is an object. */
  readonly name: string;
  /** The new value in the place; undefined removes it. */
  readonly by: unknown;
}

const anyChange: fc.Arbitrary<Change> = fc.record({
  name: fc.oneof(
    fc.constantFrom("__proto__", "constructor", "toString", "", "0", "length", "toJSON", "id"),
    fc.string({ maxLength: 5 }),
  ),
  by: fc.oneof(
    fc.constantFrom(undefined, null, true, "", "x", "a b", "\0", "\ud800", "x".repeat(5_000), [], {}, [[]]),
    fc.constantFrom(0, -0, -1, 1, 0.5, 2 ** 31, 2 ** 53, 1e21, -1e308, 5e-324),
    fc.jsonValue({ maxDepth: 2 }),
  ),
});

/** A copy that differs in the place to which the steps lead. */
function changeAt(value: unknown, [step, ...rest]: readonly number[], change: Change): unknown {
  const { name, by } = change;
  if (typeof value !== "object" || value === null) return by;
  const entries = Object.entries(value);
  const at = step === undefined ? entries.length : step % (entries.length + 1);
  const entry = entries[at];
  if (!entry) entries.push([name, by]);
  else if (rest.length === 0 && by === undefined) entries.splice(at, 1);
  else entries[at] = [entry[0], changeAt(entry[1], rest, change)];
  return Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
}
