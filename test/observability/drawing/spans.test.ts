import { expect, test } from "vitest";
import { inTree, parseSpans, traceOf } from "./spans.ts";

const span = (spanId: string, parentSpanId: string, begin: number) => ({
  name: `span ${spanId}`,
  traceId: "t1",
  spanId,
  parentSpanId,
  startTimeUnixNano: `${begin}000000`,
  endTimeUnixNano: `${begin + 5}500000`,
  attributes: spanId === "b" ? [{ key: "reprise.generation", value: { stringValue: "gen_1" } }] : [],
  events: [{ name: "first_token", timeUnixNano: `${begin + 1}000000` }],
});
const bodyOf = (...spans: object[]) =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "reprise-delivery" } }] },
        scopeSpans: [{ spans }],
      },
    ],
  });

test("spans of several exports are one tree, children in the order in which they began, below a parent that was not sent too", () => {
  const spans = parseSpans(
    [bodyOf(span("c", "a", 30), span("b", "a", 20)), bodyOf(span("a", "client", 10))].join("\n"),
  );
  expect(inTree(spans).map(({ span: { spanId }, depth }) => [spanId, depth])).toEqual([
    ["a", 0],
    ["b", 1],
    ["c", 1],
  ]);
  expect(spans.find(({ spanId }) => spanId === "b")).toMatchObject({
    service: "reprise-delivery",
    beginMs: 20,
    endMs: 25.5,
    events: [{ name: "first_token", atMs: 21 }],
    isError: false,
  });
  expect([traceOf(spans, "gen_1"), traceOf(spans, "gen_2")]).toEqual(["t1", undefined]);
});
