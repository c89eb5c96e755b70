import fc from "fast-check";
import { expect, test } from "vitest";
import { logprobsSize, type TokenLogprobs } from "./token-logprobs.ts";

const token = fc.string({ unit: "binary", maxLength: 20 });
const bytes = fc.array(fc.nat(255), { maxLength: 8 });
const logprob = fc.double({ noNaN: true, noDefaultInfinity: true });
const likely = fc.record({ token, logprob, bytes }, { requiredKeys: ["logprob"] });

test("their size is never less than what they take in an event", () => {
  const entry = fc
    .tuple(likely, fc.option(fc.array(likely, { maxLength: 20 }), { nil: undefined }))
    .map(([first, top]) => ({ ...first, ...(top && { top }) }));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 8 }), (logprobs) => {
      const encoded = Buffer.byteLength(`,"logprobs":${JSON.stringify(logprobs)}`);
      expect(logprobsSize(logprobs as TokenLogprobs) + 64).toBeGreaterThanOrEqual(encoded);
    }),
  );
});

test("of a delta without any it is 0", () => expect(logprobsSize(undefined)).toBe(0));
