/** A span with its times, as a waterfall needs it. */
export interface DrawnSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly beginMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
  readonly isError: boolean;
}

interface OtlpAttribute {
  key: string;
  value: Record<string, string | number | boolean>;
}

interface OtlpSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: OtlpAttribute[];
  events?: { name: string; timeUnixNano: string }[];
  status?: { code?: number };
}

interface OtlpBody {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

const STATUS_ERROR = 2;

/** @param received what a collector was sent: OTLP in JSON, one request a line */
export function parseSpans(received: string): DrawnSpan[] {
  const bodies = received.split("\n").filter((line) => line !== "");
  return bodies
    .map((line) => JSON.parse(line) as OtlpBody)
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map((span) => toDrawn(span, resource.attributes))),
    );
}

/** The trace that says that it is of this generation. */
export function traceOf(spans: readonly DrawnSpan[], generation: string): string | undefined {
  return spans.find(({ attributes }) => attributes["reprise.generation"] === generation)?.traceId;
}

/** Parents before their children, which are in the order in which they began; with how deep each is. */
export function inTree(spans: readonly DrawnSpan[]): { span: DrawnSpan; depth: number }[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const sorted = spans.toSorted((a, b) => a.beginMs - b.beginMs || b.endMs - a.endMs);
  const below = (parent: string | undefined, depth: number): { span: DrawnSpan; depth: number }[] =>
    sorted
      .filter(({ parentSpanId }) =>
        parent === undefined
          ? parentSpanId === undefined || !known.has(parentSpanId)
          : parentSpanId === parent,
      )
      .flatMap((span) => [{ span, depth }, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
}

function toDrawn(span: OtlpSpan, resource: readonly OtlpAttribute[]): DrawnSpan {
  return {
    service: toRecord(resource)["service.name"] ?? "",
    name: span.name,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId === "" ? undefined : span.parentSpanId,
    beginMs: toMs(span.startTimeUnixNano),
    endMs: toMs(span.endTimeUnixNano),
    attributes: toRecord(span.attributes ?? []),
    events: (span.events ?? []).map(({ name, timeUnixNano }) => ({ name, atMs: toMs(timeUnixNano) })),
    isError: span.status?.code === STATUS_ERROR,
  };
}

function toRecord(attributes: readonly OtlpAttribute[]): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}

/** To a thousandth of a millisecond, which is as much as a double holds. */
function toMs(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}
