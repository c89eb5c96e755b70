import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTraceparent, parseTraceparent } from "./traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

const DIGITS = Array.from("0123456789abcdef");

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...DIGITS), { minLength: length, maxLength: length })
    .map((digits) => digits.join(""))
    .filter((digits) => !/^0+$/.test(digits));

describe("a traceparent", () => {
  it("is read back as it was written", () => {
    fc.assert(
      fc.property(
        fc.record({ traceId: hex(32), spanId: hex(16), sampled: fc.boolean() }),
        (context) => void expect(parseTraceparent(formatTraceparent(context))).toEqual(context),
      ),
    );
  });

  it("of a later version is read by the fields of version 00", () => {
    expect(parseTraceparent(`01-${TRACE}-${SPAN}-03-more`)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      sampled: true,
    });
  });

  it.each([
    ["version ff", `ff-${TRACE}-${SPAN}-01`],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["more fields in version 00", `00-${TRACE}-${SPAN}-01-more`],
    ["upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["a line end", `00-${TRACE}-${SPAN}-01\n`],
    ["10 kB", `01-${TRACE}-${SPAN}-01-${"x".repeat(10_000)}`],
    ["nothing", ""],
  ])("with %s is left out", (_, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });
});
