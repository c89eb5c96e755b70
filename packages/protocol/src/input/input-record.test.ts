import { expect, test } from "vitest";
import { decodeInput } from "./input-record.ts";

test("a record of an older version tells of no commit but its own", () => {
  const record = (type: string) => new TextEncoder().encode(`{"seq":3,"type":"${type}","first":3,"at":0}`);
  expect(decodeInput(record("input.commit")).committed).toBe(3);
  expect(decodeInput(record("input.clear")).committed).toBe(0);
});
