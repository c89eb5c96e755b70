import { SLOS } from "../slo.ts";
import { lines, stat } from "./charts.ts";
import { growth, quantile, rate, RATE_INTERVAL } from "./promql.ts";
import { PROMETHEUS, toDashboard } from "./to-dashboard.ts";

/** One number per objective: how much of the last hour, or of its events, was bad. Red where the budget burns. */
const objectives = SLOS.map(({ name, objective, target }) =>
  stat(
    {
      title: name,
      description: objective,
      unit: "percentunit",
      limit: Number((1 - target).toPrecision(6)),
      width: 6,
      height: 4,
    },
    { "bad in 1 h {{consumer}}": `reprise:slo_bad_share:1h{slo="${name}"}` },
  ),
);

/** Of each process by its own streams, but of moderation's by all. */
const CONSUMER_LAG =
  'sum by (consumer) (reprise_consumer_lag_events{consumer!="moderation"}) or max by (consumer) (reprise_consumer_lag_events{consumer="moderation"})';

/** The whole platform, from what users get down to processes. */
export const PLATFORM = toDashboard(
  {
    uid: "reprise-platform",
    title: "Reprise: platform",
    description: "What users get, what makes them wait, and what it runs on.",
    variables: [PROMETHEUS],
    from: "now-1h",
  },
  [
    { title: "Objectives", charts: objectives },
    {
      title: "What users get",
      charts: [
        lines(
          {
            title: "First output event, from the request",
            description: "Of streams that begin before that event is stored; queue and engine are in it.",
            unit: "s",
            width: 8,
          },
          {
            p50: quantile(0.5, "reprise_first_event_seconds"),
            p95: quantile(0.95, "reprise_first_event_seconds"),
            p99: quantile(0.99, "reprise_first_event_seconds"),
          },
        ),
        lines(
          { title: "Generations that ended", unit: "ops", width: 8 },
          {
            "{{status}}": rate("reprise_generations_ended_total", "status"),
            "reaped: {{reason}}": rate("reprise_generations_reaped_total", "reason"),
          },
        ),
        lines(
          { title: "Resumes", description: "`gone` is what the objective counts.", unit: "ops", width: 8 },
          { "{{result}}": rate("reprise_resumes_total", "result") },
        ),
      ],
    },
    {
      title: "Queue and workers",
      charts: [
        lines(
          { title: "Wait in the queue, p95", unit: "s", width: 8 },
          { "{{model}}": quantile(0.95, "reprise_queue_wait_seconds", "", "model") },
        ),
        lines(
          {
            title: "Jobs that wait for a slot",
            description: "Each delivery node tells of the whole queue: the greatest counts.",
            unit: "short",
            width: 8,
          },
          { "{{model}}": "max by (model) (reprise_queue_jobs)" },
        ),
        lines(
          { title: "Age of the oldest of them", unit: "s", width: 8 },
          { "{{model}}": "max by (model) (reprise_queue_oldest_seconds)" },
        ),
        lines(
          { title: "Slots", unit: "short", width: 8 },
          {
            "{{model}} used": "sum by (model) (reprise_slots_used)",
            "{{model}} all": "sum by (model) (reprise_slots)",
          },
        ),
        lines(
          {
            title: "Wanted workers and delivery nodes",
            description: "What a scaler takes: the greatest of all nodes' plans.",
            unit: "short",
            width: 8,
          },
          {
            "workers of {{model}}": "max by (model) (reprise_wanted_workers)",
            "delivery nodes": "max(reprise_wanted_delivery_nodes)",
          },
        ),
        lines(
          { title: "Tokens", description: "By the engines' own count.", unit: "ops", width: 8 },
          { "{{gen_ai_token_type}}": rate("gen_ai_client_token_usage_sum", "gen_ai_token_type") },
        ),
      ],
    },
    {
      title: "Readers",
      charts: [
        lines(
          { title: "Connected", unit: "short", width: 8 },
          { "{{instance}}": "sum by (instance) (reprise_readers)" },
        ),
        lines(
          { title: "Events delivered", unit: "ops", width: 8 },
          { events: rate("reprise_events_delivered_total") },
        ),
        lines(
          { title: "Slow and refused", unit: "ops", width: 8 },
          {
            "fell back to the log": rate("reprise_readers_fallen_back_total"),
            "connections refused": rate("reprise_connections_refused_total"),
            "requests refused": rate("reprise_requests_refused_total"),
            "over a limit: {{limit}}": rate("reprise_limits_exceeded_total", "limit"),
          },
        ),
      ],
    },
    {
      title: "Where the time goes, p95",
      charts: [
        lines(
          {
            title: "An event, from the engine to the reader",
            description: "Moderation of a `gate` is in the second, and slow readers are.",
            unit: "s",
            width: 6,
          },
          {
            "engine to stored": quantile(0.95, "reprise_engine_to_stored_seconds"),
            "stored to delivered, {{moderation}}": quantile(
              0.95,
              "reprise_stored_to_delivered_seconds",
              "",
              "moderation",
            ),
          },
        ),
        lines(
          { title: "Engines, to the first chunk", unit: "s", width: 6 },
          {
            "{{gen_ai_request_model}}": quantile(
              0.95,
              "gen_ai_client_operation_time_to_first_chunk_seconds",
              "",
              "gen_ai_request_model",
            ),
          },
        ),
        lines(
          { title: "Appends", unit: "s", width: 6 },
          { "{{service}} {{result}}": quantile(0.95, "reprise_append_seconds", "", "service, result") },
        ),
        lines(
          { title: "HTTP, to the head of the answer", unit: "s", width: 6 },
          {
            "{{method}} {{route}}": quantile(
              0.95,
              "reprise_http_request_seconds",
              '{status!="left"}',
              "method, route",
            ),
          },
        ),
      ],
    },
    {
      title: "Moderation, audit log and analytics",
      charts: [
        lines(
          { title: "Lag of consumers", unit: "s", limit: 30, width: 8 },
          {
            "{{consumer}}": "max by (consumer) (reprise_consumer_lag_seconds)",
            "audit log": "max(reprise_audit_lag_seconds)",
          },
        ),
        lines(
          {
            title: "Events that consumers have not dealt with",
            description: "Those included that they have not read.",
            unit: "short",
            width: 8,
          },
          { "{{consumer}}": CONSUMER_LAG },
        ),
        lines(
          {
            title: "Oldest unread event, as a share of the retention",
            description: "At 1 events expire that analytics has not read: their usage is lost.",
            unit: "percentunit",
            limit: 0.5,
            width: 8,
          },
          { "{{consumer}}": "min by (consumer) (reprise_consumer_unread_ratio)" },
        ),
        lines(
          { title: "Expired unread by analytics", unit: "short", width: 8 },
          { "{{what}}": growth("reprise_analytics_lost_total", "what") },
        ),
        lines(
          {
            title: "Age of text when it was judged",
            description: "Mode `retract`, of generations that have a reader.",
            unit: "s",
            width: 8,
          },
          {
            p50: quantile(0.5, "reprise_moderation_lag_seconds"),
            p99: quantile(0.99, "reprise_moderation_lag_seconds"),
          },
        ),
        lines(
          { title: "Decisions and archived messages", unit: "ops", width: 8 },
          {
            "{{type}}": rate("reprise_moderation_decisions_total", "type"),
            archived: rate("reprise_audit_events_total"),
          },
        ),
        lines(
          { title: "Usage events delivered", unit: "ops", width: 8 },
          { "{{sink}}": rate("reprise_usage_events_total", "sink") },
        ),
        lines(
          {
            title: "Checkpoints that a witness was asked to cosign",
            description: "`inconsistent` stays at 0 in a healthy platform: a log shows two histories.",
            unit: "short",
            width: 8,
          },
          { "{{result}}": growth("reprise_witness_requests_total", "result") },
        ),
      ],
    },
    {
      title: "Tenants",
      charts: [
        lines(
          {
            title: "Generations that ended",
            description: "The ten largest; `other` has those beyond `REPRISE_METRICS_TENANTS`.",
            unit: "ops",
            width: 8,
          },
          { "{{tenant}}": `topk(10, ${rate("reprise_tenant_generations_total", "tenant")})` },
        ),
        lines(
          { title: "Output tokens", unit: "ops", width: 8 },
          { "{{tenant}}": `topk(10, ${rate("reprise_tenant_output_tokens_total", "tenant")})` },
        ),
        lines(
          {
            title: "Budgets, used",
            description: "With what is granted to generations that run; the ten fullest.",
            unit: "percentunit",
            limit: 1,
            width: 8,
          },
          { "{{tenant}} {{budget}}": "topk(10, max by (tenant, budget) (reprise_budget_used_ratio))" },
        ),
        lines(
          { title: "Creates refused because of a budget", unit: "ops", width: 8 },
          { "{{tenant}} {{reason}}": rate("reprise_budget_refusals_total", "tenant, reason") },
        ),
        lines(
          { title: "Generations cut off by a budget", unit: "ops", width: 8 },
          { "{{tenant}}": rate("reprise_budget_cut_offs_total", "tenant") },
        ),
        lines(
          {
            title: "Claims answered without Redis",
            description: "Each process grants its share of what was left.",
            unit: "ops",
            width: 8,
          },
          { claims: rate("reprise_budget_ledger_errors_total") },
        ),
      ],
    },
    {
      title: "Dependencies",
      charts: [
        lines(
          { title: "Answering", description: "0 while a dependency is away.", unit: "short", width: 12 },
          { "{{service}} {{dependency}}": "min by (service, dependency) (reprise_dependency_up)" },
        ),
        lines(
          {
            title: "Malformed messages and repairs",
            description: "The first stays at 0 in a healthy platform.",
            unit: "short",
            width: 12,
          },
          {
            malformed: growth("reprise_malformed_messages_total"),
            repairs: growth("reprise_repairs_total"),
          },
        ),
      ],
    },
    {
      title: "Broker",
      charts: [
        lines(
          { title: "Connected", description: "0 while a connection is away.", unit: "short", width: 12 },
          { "{{service}} {{connection}}": "min by (service, connection) (reprise_broker_connected)" },
        ),
        lines(
          { title: "Reconnects", unit: "short", width: 12 },
          { "{{service}} {{connection}}": growth("reprise_broker_reconnects_total", "service, connection") },
        ),
        lines(
          { title: "Round trip of a ping", unit: "s", width: 12 },
          { "{{service}} {{connection}}": "max by (service, connection) (reprise_broker_rtt_seconds)" },
        ),
        lines(
          {
            title: "Reads of logs, p95",
            description: "Direct gets: a log's `last` event or checkpoint, or a `batch` of its events.",
            unit: "s",
            width: 12,
          },
          { "{{service}} {{call}}": quantile(0.95, "reprise_log_read_seconds", "", "service, call") },
        ),
      ],
    },
    {
      title: "Processes",
      charts: [
        lines(
          {
            title: "CPU",
            description: "1 is one core, which is all that a process uses for its own code.",
            unit: "percentunit",
            width: 8,
          },
          { "{{job}}": `rate(process_cpu_seconds_total{job=~"reprise-.+"}[${RATE_INTERVAL}])` },
        ),
        lines(
          { title: "Memory", unit: "bytes", width: 8 },
          {
            "{{job}}": 'process_resident_memory_bytes{job=~"reprise-.+"}',
            "kept for readers": "sum(reprise_hub_memory_bytes)",
          },
        ),
        lines(
          { title: "Lag of the event loop, p99", unit: "s", width: 8 },
          { "{{job}}": 'nodejs_eventloop_lag_p99_seconds{job=~"reprise-.+"}' },
        ),
      ],
    },
  ],
);
