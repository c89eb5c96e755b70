import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { type LogLine, readLogLines } from "./log-lines.ts";

test("a line that a process had not written to its end when it was killed is left out", async () => {
  const output = new PassThrough();
  const lines: LogLine[] = [];
  readLogLines(output, (line) => lines.push(line));
  output.write('{"msg":"ready"}\n{"msg":"do');
  output.write('ne"}\n{"msg":"kill');
  output.end();
  await once(output, "close");
  expect(lines).toEqual([{ msg: "ready" }, { msg: "done" }]);
});
