import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readEnd } from "./read-end.ts";

test("no more than the end of what a stream says is kept", async () => {
  const said = Array.from({ length: 1_000 }, (_, i) => Buffer.from(`line ${i} of what went wrong: é\n`));
  const end = await readEnd(Readable.from(said), 100);
  expect(Buffer.concat(said).toString().endsWith(end)).toBe(true);
  expect(end).toHaveLength(100);
  expect(await readEnd(Readable.from([Buffer.from("short")]), 100)).toBe("short");
});
