import { apiStat, apiTable, trace, traceSearch } from "./charts.ts";
import type { Variable } from "./panels.ts";
import { API, TEMPO, toDashboard } from "./to-dashboard.ts";

/** The id of none: a field that is empty would ask for no generation, which is refused. */
const NOBODY = "gen_0_00000000000000000000000000";
const GENERATION: Variable = { name: "generation", label: "Generation", type: "textbox", query: NOBODY };
const TRACE: Variable = { name: "trace", label: "Trace", type: "textbox", query: "" };

const RANGE = "from=${__from:date:iso}&to=${__to:date:iso}";
const THIS = { path: `/v1/analytics/generations?${RANGE}&generation=\${generation}`, rows: "data" };

/** One generation: what its row says, and its trace over all processes. */
export const GENERATION_DASHBOARD = toDashboard(
  {
    uid: "reprise-generation",
    title: "Reprise: one generation",
    description:
      "Where one generation's time went. Its id is in the access log, and so is the id of its trace.",
    variables: [API, TEMPO, GENERATION, TRACE],
    from: "now-6h",
  },
  [
    {
      title: "What became of it",
      charts: [
        apiStat(
          { title: "Outcome", unit: "none", width: 8, height: 4 },
          {
            ...THIS,
            columns: {
              status: "status",
              model: "model",
              engine: "engine",
              "ended by": "finish_reason",
              code: "code",
            },
            texts: ["status", "model", "engine", "ended by", "code"],
          },
        ),
        apiStat(
          {
            title: "Time",
            description: "As the broker stored its events. The first token is counted from the request.",
            unit: "ms",
            width: 8,
            height: 4,
          },
          {
            ...THIS,
            columns: {
              queue: "queue_ms",
              prefill: "prefill_ms",
              "first token": "first_token_ms",
              all: "end_to_end_ms",
            },
          },
        ),
        apiStat(
          { title: "Counts", unit: "short", width: 8, height: 4 },
          {
            ...THIS,
            columns: { attempts: "attempts", chunks: "chunks", tokens: "output_tokens", stalls: "stalls" },
          },
        ),
      ],
    },
    {
      title: "How it was read",
      charts: [
        apiStat(
          { title: "Streams", unit: "short", width: 12, height: 4 },
          {
            ...THIS,
            columns: {
              streams: "delivery.streams",
              resumes: "delivery.resumes",
              disconnects: "delivery.disconnects",
              "to the end": "delivery.finished",
              replayed: "delivery.replayed_events",
            },
          },
        ),
        apiStat(
          {
            title: "The first output's way to the first stream",
            description: "From the engine into the log, to the node, through moderation, to the socket.",
            unit: "ms",
            width: 12,
            height: 4,
          },
          {
            ...THIS,
            columns: {
              engine: "delivery.engine_first_ms",
              append: "delivery.append_ms",
              received: "delivery.received_ms",
              held: "delivery.held_ms",
              sent: "delivery.sent_ms",
              "first chunk": "delivery.first_chunk_ms",
            },
          },
        ),
      ],
    },
    {
      title: "Its trace",
      charts: [trace({ title: "Trace", width: 24, height: 14 }, "${trace}")],
    },
    {
      title: "Find another",
      charts: [
        traceSearch(
          {
            title: "Traces of the generation",
            description: "A click on an id opens the trace; put it into the field above.",
            width: 8,
            height: 9,
          },
          '{ span.reprise.generation = "${generation}" }',
        ),
        apiTable(
          {
            title: "Generations that ended last",
            unit: "ms",
            width: 16,
            height: 9,
            overrides: [
              {
                matcher: { id: "byName", options: "generation" },
                properties: [
                  {
                    id: "links",
                    value: [
                      {
                        title: "Open",
                        url: "/d/reprise-generation?${__url_time_range}&${api:queryparam}&${tempo:queryparam}&var-generation=${__value.raw}",
                      },
                    ],
                  },
                ],
              },
              { matcher: { id: "byName", options: "tokens" }, properties: [{ id: "unit", value: "short" }] },
            ],
          },
          {
            path: `/v1/analytics/generations?${RANGE}&limit=100`,
            rows: "data",
            columns: {
              generation: "id",
              model: "model",
              status: "status",
              queue: "queue_ms",
              "first token": "first_token_ms",
              all: "end_to_end_ms",
              tokens: "output_tokens",
            },
            texts: ["generation", "model", "status"],
          },
        ),
      ],
    },
  ],
);
