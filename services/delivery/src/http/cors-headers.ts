import {
  GENERATION_ID_HEADER,
  RUN_ID_HEADER,
  SHOULD_RETRY_HEADER,
  TAIL_INDEX_HEADER,
  UI_STREAM_HEADER,
} from "./header-names.ts";
import { REQUEST_ID_HEADER } from "./request-id.ts";

/** Headers that the package `openai` sends with each request, also from pages. */
const OPENAI_HEADERS = [
  "OpenAI-Organization",
  "OpenAI-Project",
  "X-Stainless-Arch",
  "X-Stainless-Helper-Method",
  "X-Stainless-Lang",
  "X-Stainless-OS",
  "X-Stainless-Package-Version",
  "X-Stainless-Poll-Helper",
  "X-Stainless-Custom-Poll-Interval",
  "X-Stainless-Retry-Count",
  "X-Stainless-Runtime",
  "X-Stainless-Runtime-Version",
  "X-Stainless-Timeout",
] as const;

/** Headers that clients of Connect and gRPC-Web send. */
const RPC_HEADERS = [
  "Connect-Protocol-Version",
  "Connect-Timeout-Ms",
  "Grpc-Timeout",
  "X-Grpc-Web",
  "X-User-Agent",
] as const;

/** Headers of the Durable Streams protocol. */
const STREAM_HEADERS = [
  "If-None-Match",
  "Stream-Closed",
  "Stream-Expires-At",
  "Stream-Seq",
  "Stream-TTL",
  "Producer-Id",
  "Producer-Epoch",
  "Producer-Seq",
] as const;

/** The headers that pages of other origins may send. */
export const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "Cache-Control",
  "X-Requested-With",
  "X-Run-Id",
  "traceparent",
  ...RPC_HEADERS,
  ...OPENAI_HEADERS,
  ...STREAM_HEADERS,
] as const;

/** The headers of answers that they may read. */
export const EXPOSED_HEADERS = [
  GENERATION_ID_HEADER,
  "Location",
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  REQUEST_ID_HEADER,
  SHOULD_RETRY_HEADER,
  RUN_ID_HEADER,
  TAIL_INDEX_HEADER,
  UI_STREAM_HEADER,
  "Upload-Limit",
  "ETag",
  "Stream-Next-Offset",
  "Stream-Up-To-Date",
  "Stream-Cursor",
  "Stream-Closed",
  "Stream-TTL",
  "Stream-Expires-At",
  "Stream-SSE-Data-Encoding",
  "Producer-Epoch",
  "Producer-Seq",
  "Producer-Expected-Seq",
  "Producer-Received-Seq",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
] as const;
