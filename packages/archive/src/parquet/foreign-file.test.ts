import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { encodeSegmentHeader, type Segment } from "../segment/segment-header.ts";
import { createLog } from "../testing/events.ts";
import { sealLog } from "../testing/segments.ts";
import { FORMAT_KEY, FORMAT_VERSION } from "./encode-segment-file.ts";
import { openSegmentFile, readSegmentFile } from "./open-segment-file.ts";

const [segment] = sealLog(createLog({ generation: "gen_0_a", events: 5 }), {
  generation: "gen_0_a",
  size: 5,
});
const { header, sealed } = segment as Segment;
const text = Buffer.from(encodeSegmentHeader(header)).toString();
const corrupt = expect.objectContaining({ code: "archive_corrupt" });

/** A file with one segment that another program has written. */
function fileOf({
  headerText = text,
  generation = "gen_0_a",
  version = FORMAT_VERSION,
  nullable = false,
}): Uint8Array {
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: "generation", data: [generation], type: "STRING", nullable: false },
        { name: "header", data: [headerText], type: "STRING", nullable },
        { name: "sealed", data: [sealed], type: "BYTE_ARRAY", nullable: false },
      ],
      kvMetadata: [{ key: FORMAT_KEY, value: version }],
    }),
  );
}

test("segments are read from a file that another program has written", async () => {
  const [read] = await readSegmentFile(fileOf({}));
  expect(read?.header).toEqual(header);
  expect(Buffer.from(read?.sealed ?? [])).toEqual(Buffer.from(sealed));
});

test("a header that is not the text that was hashed is corrupt, even where it means the same", async () => {
  const reordered = JSON.stringify(Object.fromEntries(Object.entries(header).toReversed()));
  for (const headerText of [` ${text}`, reordered, "{}", "null", "no JSON", text.replace('"v":1', '"v":2')])
    await expect(readSegmentFile(fileOf({ headerText }))).rejects.toEqual(corrupt);
});

test("a row under another generation than its header's is corrupt", async () => {
  const bytes = fileOf({ generation: "gen_0_b" });
  const file = await openSegmentFile(
    async ({ offset, length }) => bytes.subarray(offset, offset + length),
    bytes.length,
  );
  await expect(file.rowsOf("gen_0_b")).rejects.toEqual(corrupt);
});

test("a file of a later version is not read", async () => {
  await expect(readSegmentFile(fileOf({ version: "2" }))).rejects.toEqual(corrupt);
});

test("a file in which a header may be missing is corrupt: what says where they are missing is made up of runs of any length", async () => {
  await expect(readSegmentFile(fileOf({ nullable: true }))).rejects.toEqual(corrupt);
});
