import { apiLines, apiStat, apiTable, words } from "./charts.ts";
import type { Variable } from "./panels.ts";
import { API, toDashboard } from "./to-dashboard.ts";

const STEP: Variable = {
  name: "step",
  label: "Step",
  type: "custom",
  query: "1m,5m,15m,1h,1d",
  current: { text: "5m", value: "5m" },
};

const RANGE = "from=${__from:date:iso}&to=${__to:date:iso}";
const summary = (by?: string) => ({
  path: `/v1/analytics/summary?${RANGE}${by === undefined ? "" : `&by=${by}`}`,
  rows: "data",
});
const SERIES = { path: `/v1/analytics/timeseries?${RANGE}&step=\${step}`, rows: "data[0].points" };

const shown = (text: string, unit: string) => ({
  matcher: { id: "byName", options: text } as const,
  properties: [{ id: "unit", value: unit }],
});

/**
 * What one tenant got, by the platform's API alone, with a key of the tenant that has the role `usage` and reaches no other tenant and no text: it may be shown to the tenant. Analytics
 * answers one question of a tenant at a time, and eight wait: a dashboard that asks more than nine at once is refused some.
 */
export const TENANT = toDashboard(
  {
    uid: "reprise-tenant",
    title: "Reprise: tenant",
    description: "What one tenant got, and what it used. A data source is one tenant: its key says which.",
    variables: [API, STEP],
    from: "now-6h",
  },
  [
    {
      title: "In this time",
      charts: [
        apiStat(
          {
            title: "What it got",
            description:
              "Goodput: completed with the first token within 1 s, and gaps between chunks within 2 s.",
            unit: "short",
            width: 24,
            height: 4,
            overrides: [
              shown("completion", "percentunit"),
              shown("goodput", "percentunit"),
              shown("first token p50", "ms"),
              shown("first token p95", "ms"),
            ],
          },
          {
            ...summary(),
            columns: {
              generations: "generations",
              failed: "failed",
              completion: "completion.share",
              goodput: "goodput.share",
              "first token p50": "latency_ms.first_token.p50",
              "first token p95": "latency_ms.first_token.p95",
              "input tokens": "tokens.input",
              "output tokens": "tokens.output",
            },
          },
        ),
      ],
    },
    {
      title: "Over time",
      charts: [
        apiLines(
          { title: "Generations by outcome", unit: "short", width: 8 },
          { ...SERIES, columns: { completed: "completed", failed: "failed", cancelled: "cancelled" } },
        ),
        apiLines(
          { title: "First token, and the queue before it", unit: "ms", limit: 1_000, width: 8 },
          {
            ...SERIES,
            columns: {
              "first token p50": "first_token_ms.p50",
              "first token p95": "first_token_ms.p95",
              "queue p95": "queue_ms.p95",
            },
          },
        ),
        apiLines(
          { title: "Completion and goodput", unit: "percentunit", width: 8 },
          { ...SERIES, columns: { completion: "completion", goodput: "goodput" } },
        ),
      ],
    },
    {
      title: "Where the time goes, and what breaks",
      charts: [
        apiTable(
          {
            title: "Latency budget: chat, responsive (95 in 100 see the first within 500 ms)",
            description:
              "Of generations with output. Those that ended before any are in no number of it: see the failures.",
            unit: "ms",
            width: 12,
            height: 7,
            overrides: [shown("measured", "short"), shown("blamed", "short")],
          },
          {
            path: `/v1/analytics/budget?${RANGE}&class=chat-responsive`,
            rows: "terms",
            columns: {
              term: "term",
              allotted: "allotted_ms",
              p50: "p50_ms",
              p95: "p95_ms",
              over: "over_ms",
              measured: "measured",
              blamed: "blamed",
            },
            texts: ["term"],
          },
        ),
        apiTable(
          { title: "Failures by code", unit: "short", width: 12, height: 7 },
          {
            path: `/v1/analytics/summary?${RANGE}&by=code,model&status=failed`,
            rows: "data",
            columns: { code: "key.code", model: "key.model", generations: "generations" },
            texts: ["code", "model"],
          },
        ),
        apiTable(
          {
            title: "Models",
            unit: "short",
            width: 24,
            height: 5,
            overrides: [
              shown("completion", "percentunit"),
              shown("goodput", "percentunit"),
              shown("first token p95", "ms"),
              shown("per token p50", "ms"),
            ],
          },
          {
            ...summary("model"),
            columns: {
              model: "key.model",
              generations: "generations",
              completion: "completion.share",
              goodput: "goodput.share",
              "first token p95": "latency_ms.first_token.p95",
              "per token p50": "latency_ms.per_output_token.p50",
              stalls: "stalls.count",
              "input tokens": "tokens.input",
              "output tokens": "tokens.output",
            },
            texts: ["model"],
          },
        ),
      ],
    },
    {
      title: "How readers got it",
      charts: [
        apiStat(
          {
            title: "Generations and their streams",
            description:
              "`abandoned`: all streams were over before the generation was. Rows come some seconds behind the end of a connection.",
            unit: "short",
            width: 12,
            height: 4,
          },
          {
            ...summary(),
            columns: {
              streamed: "delivery.streamed",
              "answered in one piece": "delivery.answered",
              unread: "delivery.unread",
              abandoned: "delivery.abandoned",
              resumes: "delivery.resumes",
              disconnects: "delivery.disconnects",
            },
          },
        ),
        apiStat(
          { title: "What they waited for", unit: "ms", width: 12, height: 4 },
          {
            ...summary(),
            columns: {
              "first chunk p95": "delivery.first_chunk_ms.p95",
              "between chunks p99": "delivery.between_chunks_ms.p99",
              "round trip p50": "delivery.client.round_trip_ms.p50",
              "client's first text p95": "delivery.client.first_text_ms.p95",
            },
          },
        ),
        words(
          { title: "More", width: 24, height: 3 },
          "The same calls, with other groups, targets and classes: `GET /v1/analytics/summary`, `timeseries`, `generations`, `budget` and `GET /v1/usage` (PROTOCOL.md §16). One generation: the dashboard “Reprise: one generation”.",
        ),
      ],
    },
  ],
);
