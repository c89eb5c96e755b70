import { beforeEach, describe, expect, test } from "vitest";
import { createLedger, type Ledger, type LedgerEntry, NOTHING_WRONG } from "./ledger.ts";

const event = (seq: number, log = "a", payload = `${log}${seq}`): LedgerEntry => ({ log, seq, payload });

let ledger: Ledger;

beforeEach(() => {
  ledger = createLedger();
  for (const seq of [0, 1, 2, 3]) ledger.acked(event(seq));
  for (const seq of [0, 1]) ledger.acked(event(seq, "b"));
});

function see(reader: string, ...entries: LedgerEntry[]) {
  for (const entry of entries) ledger.saw(reader, entry);
}

describe("the ledger", () => {
  test("finds nothing wrong with a reader that saw each event once and in order", () => {
    ledger.follows("r", "a");
    see("r", event(1), event(2), event(3));
    expect(ledger.verdict()).toEqual(NOTHING_WRONG);
  });

  test("asks of a reader that resumed only for what comes after its cursor", () => {
    ledger.follows("r", "a", 2);
    see("r", event(3));
    expect(ledger.verdict()).toEqual(NOTHING_WRONG);
  });

  test("finds what a reader never saw, in the middle and at the end", () => {
    ledger.follows("r", "a");
    see("r", event(2));
    expect(ledger.verdict()).toEqual({
      ...NOTHING_WRONG,
      lost: [
        { reader: "r", ...event(1) },
        { reader: "r", ...event(3) },
      ],
    });
  });

  test("finds everything lost for a reader that saw nothing", () => {
    ledger.follows("r", "b");
    expect(ledger.verdict().lost).toEqual([{ reader: "r", ...event(1, "b") }]);
  });

  test("finds what a reader saw twice", () => {
    ledger.follows("r", "a");
    see("r", event(1), event(2), event(2), event(3), event(1));
    expect(ledger.verdict()).toEqual({
      ...NOTHING_WRONG,
      duplicated: [
        { reader: "r", ...event(2) },
        { reader: "r", ...event(1) },
      ],
    });
  });

  test("finds what a reader saw too late", () => {
    ledger.follows("r", "a");
    see("r", event(2), event(1), event(3));
    expect(ledger.verdict()).toEqual({ ...NOTHING_WRONG, reordered: [{ reader: "r", ...event(1) }] });
  });

  test.each([
    ["of another log", event(1, "b")],
    ["that was never appended", event(9)],
    ["with another payload", event(3, "a", "forged")],
    ["that readers never get", event(0)],
  ])("finds an event %s that a reader saw", (_, entry) => {
    ledger.follows("r", "a");
    see("r", event(1), event(2), event(3), entry);
    expect(ledger.verdict()).toEqual({ ...NOTHING_WRONG, leaked: [{ reader: "r", ...entry }] });
  });

  test("judges each reader by itself", () => {
    ledger.follows("good", "b");
    ledger.follows("bad", "b");
    see("good", event(1, "b"));
    expect(ledger.verdict().lost).toEqual([{ reader: "bad", ...event(1, "b") }]);
  });

  test("refuses what can only be a mistake in the test", () => {
    ledger.follows("r", "a");
    expect(() => ledger.follows("r", "b")).toThrow("follows a already");
    expect(() => ledger.saw("stranger", event(1))).toThrow("stranger follows nothing");
    expect(() => ledger.acked(event(1, "a", "other"))).toThrow("acked twice");
    expect(() => ledger.acked(event(1))).not.toThrow();
  });
});
