import { SLOS } from "../slo.ts";
import { type Chart, type Dashboard, toDashboard } from "./panels.ts";

const rate = (metric: string, by?: string) =>
  by === undefined ? `sum(rate(${metric}[5m]))` : `sum by (${by}) (rate(${metric}[5m]))`;

const quantile = (share: number, histogram: string) =>
  `histogram_quantile(${share}, sum by (le) (rate(${histogram}_bucket[5m])))`;

/** One number per objective: how much of the last hour, or of its events, was bad. Red where the budget burns. */
const objectives = SLOS.map(({ name, objective, target }): Chart => ({
  type: "stat",
  title: name,
  description: objective,
  unit: "percentunit",
  series: { "bad in 1 h": `reprise:slo_bad_share:1h{slo="${name}"}` },
  limit: Number((1 - target).toPrecision(6)),
  width: 8,
  height: 4,
}));

/** The whole platform, from what users get down to processes. */
export const PLATFORM: Dashboard = toDashboard({ uid: "reprise-platform", title: "Reprise: platform" }, [
  { title: "Objectives", charts: objectives },
  {
    title: "Generations",
    charts: [
      {
        type: "timeseries",
        title: "Running",
        unit: "short",
        series: { "{{instance}}": "sum by (instance) (reprise_generations_running)" },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Ended by workers",
        unit: "ops",
        series: { "{{status}}": rate("reprise_generations_ended_total", "status") },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Ended by the reaper",
        description: "`abandoned` is a policy that did what it says; every other reason is a fault.",
        unit: "ops",
        series: { "{{reason}}": rate("reprise_generations_reaped_total", "reason") },
        width: 8,
      },
    ],
  },
  {
    title: "Readers",
    charts: [
      {
        type: "timeseries",
        title: "Connected",
        unit: "short",
        series: { "{{instance}}": "sum by (instance) (reprise_readers)" },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Events delivered",
        unit: "ops",
        series: { events: rate("reprise_events_delivered_total") },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Slow and refused",
        unit: "ops",
        series: {
          "fell back to the log": rate("reprise_readers_fallen_back_total"),
          "connections refused": rate("reprise_connections_refused_total"),
          "requests refused": rate("reprise_requests_refused_total"),
        },
        width: 8,
      },
    ],
  },
  {
    title: "Moderation and audit log",
    charts: [
      {
        type: "timeseries",
        title: "Lag of consumers",
        unit: "s",
        series: {
          "{{consumer}}": "max by (consumer) (reprise_consumer_lag_seconds)",
          "audit log": "max(reprise_audit_lag_seconds)",
        },
        limit: 30,
        width: 8,
      },
      {
        type: "timeseries",
        title: "Age of text when it was judged",
        description: "Mode `retract`, of generations that have a reader.",
        unit: "s",
        series: {
          p50: quantile(0.5, "reprise_moderation_lag_seconds"),
          p99: quantile(0.99, "reprise_moderation_lag_seconds"),
        },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Decisions and archived messages",
        unit: "ops",
        series: {
          "{{type}}": rate("reprise_moderation_decisions_total", "type"),
          archived: rate("reprise_audit_events_total"),
        },
        width: 8,
      },
    ],
  },
  {
    title: "Dependencies",
    charts: [
      {
        type: "timeseries",
        title: "Answering",
        description: "0 while a dependency is away.",
        unit: "short",
        series: { "{{service}} {{dependency}}": "min by (service, dependency) (reprise_dependency_up)" },
        width: 12,
      },
      {
        type: "timeseries",
        title: "Malformed messages and repairs",
        description: "The first stays at 0 in a healthy platform.",
        unit: "short",
        series: {
          malformed: "sum(increase(reprise_malformed_messages_total[5m]))",
          repairs: "sum(increase(reprise_repairs_total[5m]))",
        },
        width: 12,
      },
    ],
  },
  {
    title: "Processes",
    charts: [
      {
        type: "timeseries",
        title: "CPU",
        description: "1 is one core, which is all that a process uses for its own code.",
        unit: "percentunit",
        series: { "{{job}} {{instance}}": 'rate(process_cpu_seconds_total{job=~"reprise-.+"}[5m])' },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Memory",
        unit: "bytes",
        series: {
          "{{job}} {{instance}}": 'process_resident_memory_bytes{job=~"reprise-.+"}',
          "kept for readers": "sum(reprise_hub_memory_bytes)",
        },
        width: 8,
      },
      {
        type: "timeseries",
        title: "Lag of the event loop, p99",
        unit: "s",
        series: { "{{job}} {{instance}}": 'nodejs_eventloop_lag_p99_seconds{job=~"reprise-.+"}' },
        width: 8,
      },
    ],
  },
]);
