import type { SchemaElement } from "hyparquet";
import type { ColumnSource } from "hyparquet-writer";
import { encodeSegmentHeader, type Segment, type SegmentHeader } from "../segment/segment-header.ts";

/*
 * One row per segment. `header` and `sealed` are the segment, and what is hashed; the other columns repeat fields of the header under
 * the same names, so that any reader of Parquet can search without parsing it.
 */

interface Column {
  readonly element: SchemaElement;
  readonly valueOf: (segment: Segment) => string | bigint | Uint8Array | undefined;
  readonly options?: Partial<ColumnSource>;
}

const decoder = new TextDecoder();

const COLUMNS: readonly Column[] = [
  text("generation", ({ generation }) => generation, { encoding: "PLAIN", columnIndex: true }),
  text("kind", ({ kind }) => kind),
  text("stream", ({ stream }) => stream),
  number("epoch", ({ epoch }) => epoch),
  number("first_seq", ({ first_seq }) => first_seq),
  number("last_seq", ({ last_seq }) => last_seq),
  number("events", ({ events }) => events),
  time("first_at", ({ first_at }) => first_at),
  time("last_at", ({ last_at }) => last_at),
  optional(text("model", ({ model }) => model)),
  optional(text("status", ({ status }) => status)),
  optional(number("output_tokens", ({ output_tokens }) => output_tokens)),
  // 16 hex digits each, with commas between.
  optional(text("tags", ({ tags }) => tags?.join(","))),
  {
    element: { name: "header", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
    valueOf: ({ header }) => decoder.decode(encodeSegmentHeader(header)),
    options: { encoding: "PLAIN", statistics: false },
  },
  {
    element: { name: "sealed", type: "BYTE_ARRAY", repetition_type: "REQUIRED" },
    valueOf: ({ sealed }) => sealed,
    // What is encrypted can't be compressed.
    options: { encoding: "PLAIN", statistics: false, codec: "UNCOMPRESSED" },
  },
];

export const SEGMENT_SCHEMA: SchemaElement[] = [
  { name: "segment", num_children: COLUMNS.length },
  ...COLUMNS.map(({ element }) => element),
];

/** The segments' values, column by column, in the order of the schema. */
export function toColumns(segments: readonly Segment[]): ColumnSource[] {
  return COLUMNS.map(({ element: { name }, valueOf, options }) => ({
    name,
    data: segments.map(valueOf),
    ...options,
  }));
}

function text(
  name: keyof SegmentHeader,
  valueOf: (header: SegmentHeader) => string | undefined,
  options: Partial<ColumnSource> = {},
): Column {
  return {
    element: { name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
    valueOf: ({ header }) => valueOf(header),
    options,
  };
}

function number(name: keyof SegmentHeader, valueOf: (header: SegmentHeader) => number | undefined): Column {
  return {
    element: { name, type: "INT64", repetition_type: "REQUIRED" },
    valueOf: ({ header }) => toBigInt(valueOf(header)),
  };
}

function time(name: keyof SegmentHeader, valueOf: (header: SegmentHeader) => number): Column {
  const column = number(name, valueOf);
  return { ...column, element: { ...column.element, converted_type: "TIMESTAMP_MICROS" } };
}

function optional(column: Column): Column {
  return { ...column, element: { ...column.element, repetition_type: "OPTIONAL" } };
}

function toBigInt(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
