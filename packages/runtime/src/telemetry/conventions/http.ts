/** Attributes of HTTP spans, by OpenTelemetry's semantic conventions 1.38 (stable). */
export const HTTP = {
  method: "http.request.method",
  route: "http.route",
  status: "http.response.status_code",
  errorType: "error.type",
} as const;

/** The server that a client's span asks, by the same conventions (stable). */
export const SERVER = { address: "server.address", port: "server.port" } as const;

/** Attributes of ours, for which there is no convention. */
export const REPRISE = {
  tenant: "reprise.tenant",
  generation: "reprise.generation",
  model: "reprise.model",
  request: "reprise.request",
  attempt: "reprise.attempt",
  result: "reprise.result",
  moderation: "reprise.moderation_mode",
  seq: "reprise.seq",
  queueWaitMs: "reprise.queue_wait_ms",
  /** Time of a call that is no stream and no long-poll: from its arrival to the head of its answer. */
  answerMs: "reprise.answer_ms",
  /** On a turn: the longest wait for the engine after its first output. */
  longestWaitMs: "reprise.longest_wait_ms",
  deliveries: "reprise.deliveries",
  fromSeq: "reprise.from_seq",
  lastSeq: "reprise.last_seq",
  fromStreamSeq: "reprise.from_stream_seq",
  lastStreamSeq: "reprise.last_stream_seq",
  resumed: "reprise.resumed",
  readersLeftOut: "reprise.readers_without_span",
} as const;
