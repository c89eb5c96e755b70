/** Attributes of spans over the broker, by OpenTelemetry's semantic conventions 1.38 (messaging, in development). */
export const MESSAGING = {
  system: "messaging.system",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  destination: "messaging.destination.name",
  template: "messaging.destination.template",
  messageId: "messaging.message.id",
  batch: "messaging.batch.message_count",
} as const;

/** Subjects have a tenant and a generation in them: spans name their form. */
export const JOB_SPAN = {
  [MESSAGING.system]: "nats",
  [MESSAGING.destination]: "JOBS",
  [MESSAGING.template]: "job.{model}.{tenant}.{generation}",
} as const;

export const LOG_SPAN = {
  [MESSAGING.system]: "nats",
  [MESSAGING.destination]: "GENERATIONS",
  [MESSAGING.template]: "gen.{shard}.{tenant}.{generation}",
} as const;
