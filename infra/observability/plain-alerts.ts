import { counterSeries, gaugeSeries, type InputSeries } from "./input-series.ts";

/** An alert on something that is wrong at once, without a budget. */
export interface PlainAlert {
  readonly alert: string;
  readonly severity: "page" | "ticket";
  readonly summary: string;
  readonly description: string;
  /** @param scaled a time in seconds, as a range that is scaled like all times */
  readonly expr: (scaled: (seconds: number) => string) => string;
  /** Time for which the condition has to hold. */
  readonly forS: number;
  /** For unit tests, over `EXAMPLE_STEPS` of a minute: series with which it fires at the end, and others with which it never does. */
  readonly fires: readonly InputSeries[];
  readonly silent: readonly InputSeries[];
  /** Series that are wrong first, and healthy for the second half: silent at the end. */
  readonly resolves: readonly InputSeries[];
}

export const EXAMPLE_STEPS = 60;
const HALF = EXAMPLE_STEPS / 2;
/** Of the time that the broker keeps events: the rest is for mending. */
const UNREAD_LIMIT = 0.5;

/** Metrics of each server from NATS's exporter for Prometheus (`-jsz all`). */
const STORE_USED = "jetstream_server_total_message_bytes";
const STORE_SIZE = "jetstream_server_max_storage";
const CERTIFICATE_S = 14 * 86_400;

export const PLAIN_ALERTS: readonly PlainAlert[] = [
  growing({
    metric: "reprise_malformed_messages_total",
    alert: "RepriseMalformedMessages",
    severity: "page",
    summary: "The broker has delivered messages that no part of the platform writes.",
    description: "A process has refused malformed messages. Another client publishes, or versions disagree.",
  }),
  growing({
    metric: "reprise_audit_lost_total",
    alert: "RepriseAuditLost",
    severity: "page",
    summary: "Messages expired before they were archived.",
    description: "The audit log has a gap. It says so in the archive; what expired can't be had again.",
  }),
  growing({
    metric: 'reprise_witness_requests_total{result="inconsistent"}',
    alert: "RepriseWitnessInconsistent",
    severity: "page",
    summary: "An audit log has shown its witness two histories.",
    description:
      "A checkpoint does not extend the one that the witness has cosigned: the archive was rewritten or rolled back, or its key is used elsewhere.",
  }),
  growing({
    metric: "reprise_analytics_lost_total",
    alert: "RepriseUsageLost",
    severity: "page",
    summary: "Events expired before analytics read them.",
    description:
      "Usage of generations is missing, or incomplete. The audit archive has it, where it was archived.",
  }),
  {
    alert: "RepriseUsageExpiring",
    severity: "page",
    summary:
      "Events that analytics has not read have waited for half of the time that the broker keeps them.",
    description:
      "As much time is left until usage is lost: analytics, its store or one of its lanes has stopped.",
    expr: () => `min by (consumer) (reprise_consumer_unread_ratio) > ${UNREAD_LIMIT}`,
    forS: 900,
    ...level(`reprise_consumer_unread_ratio{consumer="analytics"}`, { wrong: 0.6, right: 0 }),
  },
  growing({
    metric: "reprise_reader_marks_lost_total",
    alert: "RepriseMarksLost",
    severity: "ticket",
    summary: "Delivery marks of readers were not recorded.",
    description: "The audit log can't tell how far some readers have read: the broker was away for too long.",
  }),
  {
    alert: "RepriseTargetDown",
    severity: "page",
    summary: "A process of the platform can't be scraped.",
    description: "It has ended, hangs, or its ops port can't be reached from Prometheus.",
    expr: () => `up{job=~"reprise-.+"} == 0`,
    forS: 60,
    ...level(`up{job="reprise-delivery",instance="a:9464"}`, { wrong: 0, right: 1 }),
  },
  {
    alert: "RepriseBrokerAway",
    severity: "page",
    summary: "The broker takes no appends of a service.",
    description:
      "NATS or the quorum of its streams is away, or the service can't reach it: streams pause, calls are refused.",
    expr: () => `min by (service) (reprise_dependency_up{dependency="broker"}) == 0`,
    forS: 60,
    ...level(`reprise_dependency_up{service="delivery",dependency="broker"}`, { wrong: 0, right: 1 }),
  },
  {
    alert: "RepriseReplicasMissing",
    severity: "page",
    summary: "A stream lacks a replica: a nats-server is away.",
    description: "Everything continues. The loss of another server stops all appends.",
    expr: () => `max(reprise_broker_replicas_missing) > 0`,
    forS: 60,
    ...level(`reprise_broker_replicas_missing{service="delivery"}`, { wrong: 1, right: 0 }),
  },
  {
    alert: "RepriseBrokerStoreFull",
    severity: "page",
    summary: "A nats-server's store is fuller than 80 %.",
    description: "At 100 % it stores nothing more: appends and creates are refused.",
    expr: () => `${STORE_USED} / (${STORE_SIZE} > 0) > 0.8`,
    forS: 300,
    ...storeLevel(),
  },
  {
    alert: "RepriseQueueOld",
    severity: "ticket",
    summary: "Jobs of a model have waited for 5 minutes for a slot.",
    description: "The label `model` names it: its workers are too few, away, or its engine is slow.",
    expr: () => `max by (model) (reprise_queue_oldest_seconds) > 300`,
    forS: 120,
    ...level(`reprise_queue_oldest_seconds{model="sim"}`, { wrong: 400, right: 0 }),
  },
  {
    alert: "RepriseWitnessLag",
    severity: "ticket",
    summary: "A witness has lacked commits of the archive for 20 minutes.",
    description: "What is cut off the archive's end meanwhile is not found. Archiving continues.",
    expr: () => `max by (witness) (reprise_witness_lag_size) > 0`,
    forS: 1_200,
    ...level(`reprise_witness_lag_size{witness="witness"}`, { wrong: 3, right: 0 }),
  },
  {
    alert: "RepriseEventLoopLag",
    severity: "ticket",
    summary: "A process is too busy to answer in time.",
    description: "One in a hundred turns of its event loop was late by half a second or more, for 5 minutes.",
    expr: () => `nodejs_eventloop_lag_p99_seconds{job=~"reprise-.+"} > 0.5`,
    forS: 300,
    ...level(`nodejs_eventloop_lag_p99_seconds{job="reprise-delivery"}`, { wrong: 1, right: 0.01 }),
  },
  {
    alert: "RepriseCertificateExpires",
    severity: "ticket",
    summary: "The API's certificate expires within 14 days.",
    description: "It was not renewed, or a node does not find the renewed one.",
    expr: () => `min(reprise_certificate_expires_timestamp_seconds) - time() < ${CERTIFICATE_S}`,
    forS: 600,
    ...level("reprise_certificate_expires_timestamp_seconds", {
      wrong: CERTIFICATE_S,
      right: 10 * CERTIFICATE_S,
    }),
  },
  {
    alert: "RepriseDependencyAway",
    severity: "ticket",
    summary: "Something that a service depends on does not answer.",
    description:
      "The label `dependency` names it. The service continues without it, for the time that it can.",
    expr: () => `min by (service, dependency) (reprise_dependency_up{dependency!="broker"}) == 0`,
    forS: 300,
    ...level(`reprise_dependency_up{service="audit-log",dependency="archive"}`, { wrong: 0, right: 1 }),
  },
  {
    alert: "RepriseLimitsLocal",
    severity: "ticket",
    summary: "Redis does not answer: each delivery node grants its share of the limits.",
    description: "Limits of tenants hold per node and not over all of them, until Redis is back.",
    expr: () => `reprise_limits_local == 1`,
    forS: 300,
    ...level("reprise_limits_local", { wrong: 1, right: 0 }),
  },
];

type Growing = Pick<PlainAlert, "alert" | "severity" | "summary" | "description"> & {
  /** With its selector of labels, if any. */
  metric: string;
};

/** A counter that stays at 0 in a healthy platform. */
function growing({ metric, ...alert }: Growing): PlainAlert {
  const grows = { steps: HALF, perStep: 1 };
  const stays = { steps: HALF, perStep: 0 };
  return {
    ...alert,
    expr: (scaled) => `increase(${metric}[${scaled(600)}]) > 0`,
    forS: 0,
    fires: [counterSeries(metric, [stays, grows])],
    silent: [counterSeries(metric, [stays, stays])],
    resolves: [counterSeries(metric, [grows, stays])],
  };
}

function level(series: string, { wrong, right }: { wrong: number; right: number }) {
  const stretch = (value: number) => Array<number>(HALF).fill(value);
  return {
    fires: [gaugeSeries(series, [...stretch(right), ...stretch(wrong)])],
    silent: [gaugeSeries(series, [...stretch(right), ...stretch(right)])],
    resolves: [gaugeSeries(series, [...stretch(wrong), ...stretch(right)])],
  } as const;
}

/** A store of which 90 % are used, or 10 %. */
function storeLevel() {
  const size = gaugeSeries(STORE_SIZE, Array<number>(EXAMPLE_STEPS).fill(100));
  const { fires, silent, resolves } = level(STORE_USED, { wrong: 90, right: 10 });
  return { fires: [...fires, size], silent: [...silent, size], resolves: [...resolves, size] };
}
