import { expect, test } from "vitest";
import { assertNotWeakened } from "./assert-not-weakened.ts";

const HOUR_NS = 3_600_000 * 1_000_000;
const stream = (num_replicas: number, hours: number) => ({
  name: "GENERATIONS_0",
  num_replicas,
  max_age: hours * HOUR_NS,
});

test("a stream may get more copies and a longer retention time, and may stay as it is", () => {
  for (const wanted of [stream(1, 24), stream(3, 24), stream(1, 48), stream(5, 0)])
    expect(() => assertNotWeakened(stream(1, 24), wanted)).not.toThrow();
});

test.each([
  [
    "fewer copies",
    stream(3, 24),
    stream(1, 24),
    "REPRISE_REPLICAS",
    /GENERATIONS_0.* 3 .*REPRISE_REPLICAS.* 1\b/,
  ],
  [
    "a shorter time",
    stream(1, 24),
    stream(3, 1),
    "REPRISE_RETENTION_HOURS",
    /24 hours.*RETENTION_HOURS.* 1 hour/,
  ],
  ["an end of time", stream(1, 0), stream(1, 24), "REPRISE_RETENTION_HOURS", /for ever.*24 hours/],
])(
  "%s is refused, with what is, what was wanted and where that came from",
  (_, present, wanted, param, told) => {
    const refuse = () => assertNotWeakened(present, wanted);
    expect(refuse).toThrow(expect.objectContaining({ code: "broker_incompatible", param }));
    expect(refuse).toThrow(told);
  },
);
