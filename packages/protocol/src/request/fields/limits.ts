/** Every limit on what a client may send; PROTOCOL.md §4.2 gives the same numbers. Lengths of text are in UTF-16 code units. */
export const LIMITS = {
  bodyBytes: 1_048_576,
  /** Nesting depth of a body, including itself, for any field: a `schema` of the deepest form fits in each protocol. */
  bodyDepth: 128,
  /** Names in one object of a body, for any field. */
  bodyNames: 4_096,
  messages: 1_024,
  /** Content parts in `input`, of all its messages together. */
  parts: 1_024,
  /** Blobs and https URLs that parts name: how many different ones, and their bytes together. */
  mediaReferences: 128,
  mediaBytes: 67_108_864,
  stopSequences: 4,
  stopLength: 256,
  outputTokens: 1_000_000,
  temperature: 2,
  seed: 2_147_483_647,
  topK: 1_000_000,
  /** `frequency_penalty` and `presence_penalty`, above and below 0. */
  penalty: 2,
  repetitionPenalty: 2,
  logitBiasTokens: 1_024,
  /** Above and below 0. */
  logitBias: 100,
  logprobs: 20,
  optionsDepth: 32,
  tools: 128,
  toolCallIdLength: 256,
  toolDescriptionLength: 4_096,
  /** State that a model server asks to get back with one call: its bytes as JSON, and its depth. */
  providerStateBytes: 65_536,
  providerStateDepth: 32,
  /** Nesting depth of a tool's JSON schema and of a tool's answer. */
  toolParametersDepth: 32,
  toolOutputDepth: 32,
  /** One tool's answer, as JSON. */
  toolOutputBytes: 262_144,
  schemaDescriptionLength: 4_096,
  /** Nesting depth of the JSON schema of a `response_format`. */
  schemaDepth: 64,
  /** Values of such a schema, parts of parts counted, and of the `parameters` of all tools together. */
  schemaValues: 20_000,
  /** Cost of one pattern of such a schema, and of all of them together: `schemaPatternCost`. */
  schemaPatternCost: 1_024,
  schemaPatternsCost: 8_192,
  fileNameLength: 255,
  metadataPairs: 16,
  metadataKeyLength: 64,
  metadataValueLength: 512,
  subjectLength: 128,
  idempotencyKeyLength: 255,
  cancelReasonLength: 256,
  /** Streamed input: entries of one call, and bytes of one entry. */
  inputEntries: 256,
  inputEntryBytes: 16_384,
  /** Bytes of one generation's input in a second, at one node, and that its worker has not consumed. */
  inputBytesPerSecond: 1_048_576,
  inputAheadBytes: 1_048_576,
  /** Events of a generation that producers write, encoded; its end comes on top. */
  outputTotalBytes: 16_777_216,
  /** One page of events: most events, and most milliseconds that it waits for the first. */
  pageEvents: 1_000,
  pageWaitMs: 30_000,
  pageReviews: 100,
  reviewReplacementLength: 4_096,
  /** One stored event, encoded. A request that is larger once it is validated and re-encoded is refused. */
  eventBytes: 1_572_864,
} as const;
