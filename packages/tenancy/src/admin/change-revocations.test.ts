import { describe, expect, test } from "vitest";
import { parseTenantRecord } from "../records/tenant-record.ts";
import { ACME, record } from "../testing/world.ts";
import { type NewRevocation, neededRevocations, withRevocation } from "./change-revocations.ts";

const NOW = new Date("2026-11-22T12:00:00.000Z");
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const token = (value: string): NewRevocation => ({ kind: "token", value });
/** An hour, and the leeway of two clocks. */
const FORGOTTEN_AFTER = 3_620;

function withMany(count: number) {
  let present = record(ACME, []);
  for (let i = 0; i < count; i++) present = withRevocation(present, token(`t${i}`), later(i / 1_000));
  return present;
}

describe("revocations", () => {
  test("are as many as can be read back; one more is refused with the time until the first is forgotten", () => {
    const present = withMany(1_000);
    expect(parseTenantRecord(JSON.stringify(present), ACME).revocations).toHaveLength(1_000);
    expect(() => withRevocation(present, token("more"), later(20))).toThrow(
      expect.objectContaining({
        code: "limit_exceeded",
        param: "revocations",
        retryAfterMs: (FORGOTTEN_AFTER - 20) * 1_000,
      }),
    );
    expect(withRevocation(present, token("t7"), later(20)).revocations).toHaveLength(1_000);
  });

  test("are forgotten once no token that they concern is valid on any node, and not before", () => {
    const present = withMany(1_000);
    const kept = (seconds: number) => neededRevocations(present, later(seconds)).length;
    expect([kept(FORGOTTEN_AFTER - 0.001), kept(FORGOTTEN_AFTER), kept(FORGOTTEN_AFTER + 1)]).toEqual([
      1_000, 999, 0,
    ]);
    expect(withRevocation(present, token("more"), later(FORGOTTEN_AFTER + 1)).revocations).toMatchObject([
      token("more"),
    ]);
  });

  test("of the same tokens take the place of earlier ones, with the later time", () => {
    let present = record(ACME, []);
    for (const at of [NOW, later(5)]) present = withRevocation(present, { kind: "user", value: "u" }, at);
    present = withRevocation(present, token("u"), later(6));
    expect(present.revocations.map(({ kind, at }) => [kind, at])).toEqual([
      ["user", later(5).toISOString()],
      ["token", later(6).toISOString()],
    ]);
  });
});
