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
 * What one tenant got. Prometheus has no label with a tenant, of which there may be any number: all of it is asked of the platform's API, with a
 * key of the tenant that has the role `usage` and reaches no other tenant and no text.
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
          { title: "Generations", unit: "short", width: 6, height: 4 },
          { ...summary(), columns: { ended: "generations", failed: "failed" } },
        ),
        apiStat(
          {
            title: "Completed and met all targets",
            description:
              "Of those that were not cancelled: first token within 1 s, and gaps between chunks within 2 s.",
            unit: "percentunit",
            width: 6,
            height: 4,
          },
          { ...summary(), columns: { completion: "completion.share", goodput: "goodput.share" } },
        ),
        apiStat(
          {
            title: "First token",
            description: "From the request to the first delta as it was stored.",
            unit: "ms",
            width: 6,
            height: 4,
          },
          { ...summary(), columns: { p50: "latency_ms.first_token.p50", p95: "latency_ms.first_token.p95" } },
        ),
        apiStat(
          { title: "Tokens", unit: "short", width: 6, height: 4 },
          {
            path: `/v1/usage?${RANGE}`,
            rows: "data",
            columns: { input: "input_tokens", output: "output_tokens" },
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
          { title: "First token", unit: "ms", limit: 1_000, width: 8 },
          { ...SERIES, columns: { p50: "first_token_ms.p50", p95: "first_token_ms.p95" } },
        ),
        apiLines(
          { title: "Wait in the queue", unit: "ms", width: 8 },
          { ...SERIES, columns: { p50: "queue_ms.p50", p95: "queue_ms.p95" } },
        ),
        apiLines(
          { title: "Output tokens", unit: "short", width: 8 },
          { ...SERIES, columns: { tokens: "output_tokens" } },
        ),
        apiLines(
          { title: "Between chunks", unit: "ms", width: 8 },
          { ...SERIES, columns: { p50: "between_chunks_ms.p50", p95: "between_chunks_ms.p95" } },
        ),
        apiLines(
          { title: "Goodput", unit: "percentunit", width: 8 },
          { ...SERIES, columns: { completion: "completion.share", goodput: "goodput.share" } },
        ),
      ],
    },
    {
      title: "Where the time goes, and what breaks",
      charts: [
        apiTable(
          {
            title: "Latency budget: chat, responsive (95 in 100 see the first within 500 ms)",
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
            width: 12,
            height: 7,
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
              stalls: "stalls",
            },
            texts: ["model"],
          },
        ),
        apiTable(
          { title: "Usage by model", unit: "short", width: 12, height: 7 },
          {
            path: `/v1/usage?${RANGE}&by=model`,
            rows: "data",
            columns: {
              model: "key.model",
              generations: "generations",
              input: "input_tokens",
              cached: "cached_input_tokens",
              output: "output_tokens",
              kept: "output_tokens_kept",
            },
            texts: ["model"],
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
