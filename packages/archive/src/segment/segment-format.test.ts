import { expect, test } from "vitest";
import { testKey } from "../testing/segments.ts";
import { hasMessagesRoot, openSegment } from "./segment.ts";
import { encodeSegmentHeader, segmentHeaderSchema } from "./segment-header.ts";

/*
 * A segment as the first version has written it. Archives are kept for years: what is here must be readable for ever, and a change that
 * makes it unreadable needs a version of its own.
 */

const HEADER =
  '{"v":1,"tenant":"acme","generation":"gen_0_test","kind":"log","stream":"GENERATIONS_0","epoch":0,"first_stream_seq":100,"last_stream_seq":136,' +
  '"events":7,"first_seq":7,"last_seq":13,"first_at":1795000000000000,"last_at":1795000000120002,"status":"completed","output_tokens":5,' +
  '"messages_root":"86b0b079ccc671a16b5e0d4ff17c549dcc85fbc49f40b3b694a3cf7fc8bee0c5",' +
  '"kid":"dd56de4137951d9c","commitment":"421da59f19fadc28520e59a47c46d7d6b689f687911c5f6ccb76d16ad6fbb792","nonce":"000102030405060708090a0b"}';
const SEALED =
  "OG1AvtQQLN4vNtxPRjt0Wy4ZSP2YEbtB+yPbhoXuOUnUILqPjEnsUbznmLIXZ1Z3YrkUbqaSI99Hjv5DcQZ0iCWV10Wfd6dzFA3InHVWrmUyrnS8+NyMn09COQnmnoZdcRl/7Q5cEmlc" +
  "0e9fY/K+YEPdJkI5H2Il9tnNgIbTdAB4HveIaiz+1WZzIwmG8WNTxtUNdwt41NV6DyY6zb6eA+DGxND0BVA4KHUUHB9pGCACoK+IQip9xG7zW8DB8Cujm9kOKcHn6qve+YEWXjPPWKjQ" +
  "tGRA+uUbgSCTu0oKcq6ZR5UC4bdb46ebv7iJxVffsqmIe9qkQh4e88QdMSAuUW5h";

test("a segment of the first version opens", () => {
  const header = segmentHeaderSchema.parse(JSON.parse(HEADER));
  expect(new TextDecoder().decode(encodeSegmentHeader(header))).toBe(HEADER);
  const messages = openSegment({ header, sealed: Buffer.from(SEALED, "base64") }, testKey("golden"));
  expect(hasMessagesRoot(header, messages, testKey("golden"))).toBe(true);
  expect(messages.map(({ payload, ...at }) => ({ ...at, text: new TextDecoder().decode(payload) }))).toEqual([
    {
      streamSeq: 100,
      storedAtUs: 1_795_000_000_000_000,
      text: '{"seq":7,"type":"generation.started","attempt":1,"worker":"w1","model":"sim"}',
    },
    {
      streamSeq: 101,
      storedAtUs: 1_795_000_000_020_004,
      text: '{"seq":8,"type":"output.delta","text":"Hello"}',
    },
    {
      streamSeq: 104,
      storedAtUs: 1_795_000_000_040_008,
      text: '{"seq":9,"type":"output.delta","text":" 日本","tokens":2}',
    },
    {
      streamSeq: 109,
      storedAtUs: 1_795_000_000_060_001,
      text: '{"seq":10,"type":"reasoning.delta","text":"hm"}',
    },
    {
      streamSeq: 116,
      storedAtUs: 1_795_000_000_080_005,
      text: '{"seq":11,"type":"reasoning.delta","text":"hm","tokens":3}',
    },
    { streamSeq: 125, storedAtUs: 1_795_000_000_100_009, text: '{ "seq": 12, "type": "later" }' },
    {
      streamSeq: 136,
      storedAtUs: 1_795_000_000_120_002,
      text: '{"seq":13,"type":"generation.completed","finish_reason":"stop","usage":{"input_tokens":3,"output_tokens":5}}',
    },
  ]);
});
