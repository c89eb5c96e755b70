import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

type Value = string | number | boolean | readonly string[];

/** A span as a collector gets it. */
export interface ReceivedSpan {
  /** `service.name` of the process that made it. */
  readonly service: Value | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, Value>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[];
  /** Error of a failed span. */
  readonly error: string | undefined;
}

/** Reaction of the receiver to a request: takes it, refuses it, or leaves it unanswered. */
export type OtlpAnswer = "take" | "refuse" | "hang";

/** A collector for tests: OTLP over HTTP with JSON, traces only. */
export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`, with `http/json` as `OTEL_EXPORTER_OTLP_PROTOCOL`. */
  readonly url: string;
  readonly port: number;
  readonly spans: readonly ReceivedSpan[];
  /** All that was sent, as text. */
  readonly received: string;
  /** Headers of the last request. */
  readonly headers: IncomingHttpHeaders;
  /** Number of requests so far, taken or not. */
  readonly requests: number;
  answer: OtlpAnswer;
  /** Resolves with the spans as soon as they are what is asked for. */
  until(holds: (spans: readonly ReceivedSpan[]) => boolean): Promise<readonly ReceivedSpan[]>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  let headers: IncomingHttpHeaders = {};
  let requests = 0;
  let grown = Promise.withResolvers<void>();
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    headers = request.headers;
    if (receiver.answer === "take") {
      bodies.push(body);
      spans.push(...spansOf(JSON.parse(body) as OtlpBody));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    } else if (receiver.answer === "refuse") response.writeHead(500).end();
    requests++;
    grown.resolve();
    grown = Promise.withResolvers();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    spans,
    get received() {
      return bodies.join("\n");
    },
    get headers() {
      return headers;
    },
    get requests() {
      return requests;
    },
    answer: "take",
    async until(holds) {
      while (!holds(spans)) await grown.promise;
      return spans;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: OtlpValue[] };
}

interface OtlpAttribute {
  key: string;
  value: OtlpValue;
}

interface OtlpSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links?: { traceId: string; spanId: string }[];
  attributes?: OtlpAttribute[];
  events?: { name: string; attributes?: OtlpAttribute[] }[];
  status?: { code?: number };
}

interface OtlpBody {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** By OTLP's numbers, which begin at 1. */
const KINDS = ["internal", "server", "client", "producer", "consumer"] as const;
const STATUS_ERROR = 2;

function spansOf({ resourceSpans }: OtlpBody): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => toReceived(span, toRecord(resource.attributes)["service.name"])),
    ),
  );
}

function toReceived(span: OtlpSpan, service: Value | undefined): ReceivedSpan {
  const { name, kind, traceId, spanId, parentSpanId, links = [], events = [], status } = span;
  const attributes = toRecord(span.attributes);
  return {
    service,
    name,
    kind: KINDS[kind - 1] ?? "internal",
    traceId,
    spanId,
    parentSpanId,
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    attributes,
    events: events.map((event) => ({ name: event.name, attributes: toRecord(event.attributes) })),
    error: status?.code === STATUS_ERROR ? String(attributes["error.type"]) : undefined,
  };
}

function toValue({ arrayValue, stringValue, boolValue, doubleValue, intValue }: OtlpValue): Value {
  if (arrayValue) return arrayValue.values.map((value) => String(toValue(value)));
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
}

function toRecord(attributes: readonly OtlpAttribute[] = []): Record<string, Value> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}
