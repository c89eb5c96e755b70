import * as fc from "fast-check";
import { TIMEOUT_ANSWERS, type TimeoutAnswer, type Timeouts } from "./timeouts.ts";

function anyTimeout<Answer extends TimeoutAnswer>(answers: readonly Answer[]) {
  const fields = { after_ms: fc.integer({ min: 1, max: 86_400_000 }), answer: fc.constantFrom(...answers) };
  return fc.record(fields, { requiredKeys: [] });
}

const anyFinal = anyTimeout(["complete", "fail"]);
const anyRetried = anyTimeout(TIMEOUT_ANSWERS);

/** Timeouts that one party may set: any of them or none, each with its time, its answer, both or neither. */
export const anyTimeouts: fc.Arbitrary<Timeouts> = fc.record(
  {
    queue: anyFinal,
    first_token: anyRetried,
    between_tokens: anyRetried,
    total: anyFinal,
    tool_result: anyFinal,
  },
  { requiredKeys: [] },
);
