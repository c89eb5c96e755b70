/*
 * Text that payloads are expected to have in common: zstd refers to it as if it stood before what it compresses. A generation's request
 * and its policy are a kilobyte of JSON that is much the same each time; without a dictionary they would take a tenth of an archive.
 * Part of the format: version 1 of a segment can only be read with these very bytes. What is the most frequent stands last, where
 * references are shortest.
 */
const TEXT = [
  '{"judged":0,"cleared":0,"decided":0,"attempt":1,"spans":[{"from_seq":0,"to_seq":0,"rule_set":"default"}],"findings":[{"rule":"cards","category":"personal-data","action":"redact","from_seq":0,"to_seq":0}],"finding_count":1,"classified":0,"unjudged":[]}',
  '{"kind":"access","at":"2026-01-01T00:00:00.000Z","by":"auditor","call":"replay","address":"private","query":{"generation":"gen_0_"}}',
  '{"kind":"erased","at":"2026-01-01T00:00:00.000Z","erasure":"era_"}',
  '"ended_at":"2026-01-01T00:00:00.000Z","withdrawn":[[1,1]]',
  '{"kind":"delivered","at":"2026-01-01T00:00:00.000Z","node":"node-","readers":[{"reader":"rdr_","protocol":"sse","address":"loopback","by":"dev","from_seq":1,"seq":1,"started_at":"2026-01-01T00:00:00.000Z","ended_at":"2026-01-01T00:00:00.000Z"}]}',
  'moderation.unavailable","answer":"fail_open","judged_seq":1',
  'moderation.reviewed","review_id":"rev_1","decision":"approve","reviewer":"timeout","replacement":"',
  'moderation.review","review_id":"rev_1","from_seq":1,"to_seq":2,"rule":"cards","category":"personal-data","channel":"0","expires_at":"2026-01-01T00:00:00.000Z"',
  'moderation.halted","from_seq":1,"replacement":"","rule":"cards","category":"personal-data","review_id":"rev_1"',
  'moderation.redacted","from_seq":1,"to_seq":2,"replacement":"[redacted]","rule":"secrets","category":"personal-data","channel":"0"',
  'output.rewind","to_seq":1,"reason":"worker_lost"',
  'attempt.ended","attempt":1,"reason":"handover"',
  'generation.cancelled","reason":"client","usage":{"input_tokens":null,"output_tokens":0}',
  'generation.failed","error":{"code":"engine_failed","message":"The engine broke off.","retryable":true},"usage":{"input_tokens":0,"output_tokens":0}',
  'tool.result","call_id":"call_1","output":{"',
  'tool.call","call_id":"call_1","name":"look_up","arguments":"{\\"query\\":\\"',
  'generation.requested","tenant":"default","generation":"gen_0_","created_at":"2026-01-01T00:00:00.000Z","request":{"model":"sim","input":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"',
  '"}],"max_output_tokens":1024,"temperature":0.7,"top_p":1,"stop":["\\n"],"seed":1,"options":{"tokens":64,"tokens_per_second":50},"tools":[{"name":"look_up","description":"","parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}],"subject":"user-","metadata":{"',
  '"}},"policy":{"max_attempts":3,"on_worker_loss":"continue","on_disconnect":"keep","timeouts":{"queue":{"after_ms":60000,"answer":"fail"},"first_token":{"after_ms":60000,"answer":"retry"},"between_tokens":{"after_ms":30000,"answer":"retry"},"total":{"after_ms":1800000,"answer":"fail"},"tool_result":{"after_ms":600000,"answer":"fail"}},"delivery":{"min_interval_ms":0},"moderation":{"mode":"gate","rule_set":"","replacement":"[redacted]","on_unavailable":{"answer":"fail_closed","after_ms":5000},"review":{"answer":"redact","after_ms":3600000}}},"idempotency_key":"","traceparent":"00-',
  'generation.started","attempt":1,"worker":"worker-","model":"sim","input_tokens":1,"reason":"worker_lost"',
  'generation.completed","finish_reason":"length","usage":{"input_tokens":1,"output_tokens":1}',
  'generation.completed","finish_reason":"stop","usage":{"input_tokens":1,"output_tokens":1}',
  '","output":1,"tokens":2',
  "\\n\\n",
].join("\n");

export const PAYLOAD_DICTIONARY = new TextEncoder().encode(TEXT);
