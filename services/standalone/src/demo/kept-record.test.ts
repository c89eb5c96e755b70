import { expect, test } from "vitest";
import { isComplete, type KeptRecord, readUntilWhole } from "./kept-record.ts";

const GONE = { ended_at: "2026-11-21T12:00:00.000Z" };
const HERE = {};

/** Hands these out one after the other, and the last of them again. */
function reads(...records: (KeptRecord | undefined)[]) {
  let asked = 0;
  return { read: async () => records[Math.min(asked++, records.length - 1)], asked: () => asked };
}

const log = (readers: KeptRecord["readers"], status = "completed") => ({ status, events: 17, readers });

const hasAll = (connections: number) => (record: KeptRecord | undefined) => isComplete(record, connections);

test("a record is complete with the log's end and the last mark of every connection, whichever commit comes first", async () => {
  const whole = log([GONE, GONE, GONE]);
  const { read, asked } = reads(
    undefined,
    log([], "open"),
    log([]),
    log([GONE, GONE]),
    log([GONE, GONE, HERE]),
    whole,
  );
  expect(await readUntilWhole({ read, isWhole: hasAll(3), patienceMs: 60_000, pollMs: 0 })).toBe(whole);
  expect(asked()).toBe(6);
});

test("marks that are archived before the log's end are not enough", async () => {
  const whole = log([GONE]);
  const { read } = reads(log([GONE], "open"), whole);
  expect(await readUntilWhole({ read, isWhole: hasAll(1), patienceMs: 60_000, pollMs: 0 })).toBe(whole);
});

test("when the patience has ended the record is returned as it is", async () => {
  const { read, asked } = reads(log([]));
  expect(await readUntilWhole({ read, isWhole: hasAll(1), patienceMs: 0, pollMs: 0 })).toEqual(log([]));
  expect(asked()).toBe(1);
});
