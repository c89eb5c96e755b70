import { encodeEvent, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { foldLog } from "./run-log.ts";
import { delta, started } from "../../testing/drafts.ts";

test("a log is folded without its request, which is not even parsed", () => {
  const request = Buffer.from(
    '{"seq":0,"type":"generation.requested","request":{"model":"m","input":"a megabyte',
  );
  const transcript = foldLog([
    request,
    encodeEvent(asSeq(1), started(1)),
    encodeEvent(asSeq(2), delta("Hi.")),
  ]);
  expect([transcript.text, transcript.cursor.seq]).toEqual(["Hi.", 2]);
});
