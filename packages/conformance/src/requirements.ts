/** A numbered MUST of PROTOCOL.md. */
export interface Requirement {
  readonly id: string;
  /** The section that has it. */
  readonly section: string;
  readonly text: string;
  /** Says why no case can check it. */
  readonly untestable?: string;
}

const TIME = "logs are kept for hours";

const ROWS: readonly (readonly [section: string, text: string, untestable?: string])[] = [
  ["2.1", "another Content-Type is 415 unsupported_media_type"],
  ["2.1", "a body that is not JSON in UTF-8 is 400 invalid_json"],
  ["2.1", "a body above 1 MiB is 413 body_too_large"],
  ["2.2", "a call without a valid key is 401 unauthenticated, for any path and body"],
  ["2.2", "a call without the role is 403 forbidden, for any body"],
  ["2.2", "another tenant's generation is answered like one that does not exist"],
  ["2.3", "an error has code, message and retryable, and param if a field is the cause"],
  ["2.3", "429 limit_exceeded has param and Retry-After"],
  ["2.4", "an unknown field or query parameter is 400 invalid_request"],
  ["2.6", "each answer has an X-Request-Id"],
  ["2.7", "each answer has Vary: Origin, and no-store unless it is a stream"],
  ["2.8", "an unknown path is 404, another method 405 with Allow"],
  ["3.1", "an id begins with gen_ and has at most 34 characters"],
  ["3.1", "a malformed id is 404 generation_not_found"],
  ["4", "a create is 201 with the generation and Location"],
  ["4", "a generation runs to its end without readers"],
  ["4.1", "an unknown model is 404 model_not_found"],
  ["4.1", "a missing capability is 400 capability_unsupported with param"],
  ["4.2", "a field over its limit is 400 invalid_request with param"],
  ["4.3.2", "a repeated create is 200 and runs nothing"],
  ["4.3.3", "a used key with a different request is 409 idempotency_conflict"],
  ["4.3.4", "a key is remembered while the log is kept", TIME],
  ["4.3.5", "a create without a key has X-Should-Retry: false"],
  ["4.4.1", "a create can be answered by the stream, with Reprise-Generation-Id"],
  ["4.4.2", "a repeated create resumes after Last-Event-ID"],
  ["4.4.2", "Last-Event-ID without Idempotency-Key is 400 and creates nothing"],
  ["4.6.2", "tool_calls: end ends the generation after its calls"],
  ["5.1", "status is one of six"],
  ["5.1", "settled is true exactly at the end"],
  ["5.2", "text is that of the events up to cursor"],
  ["5.3", "error and finish_reason are null unless they apply"],
  ["5.4", "a cancel is 200 once the log has its end"],
  ["5.4", "a cancel of an ended generation is 200 and changes nothing"],
  ["5.4", "closing a connection cancels nothing"],
  ["5.5", "cancel_after ends a generation without readers as abandoned"],
  ["5.6.1", "a tool's answer is 200 once the log has it"],
  ["5.6.2", "calls take answers in any order, and the model continues"],
  ["5.6.3", "a further answer is 409 tool_result_conflict"],
  ["5.6.3", "an answer to an unknown call is 404 tool_call_not_found"],
  ["5.6.3", "an answer after the end is 409 generation_ended"],
  ["5.7", "a key without read gets no text"],
  ["5.7", "a key without read gets no stream"],
  ["6.1", "an event begins with seq and type"],
  ["6.1", "readers get seq 1, 2, 3, …"],
  ["6.4", "a log has exactly one terminal event"],
  ["6.5", "all readers get the same bytes of an event"],
  ["6.7", "attempts count from 1"],
  ["7.1", "a cursor has at most 26 printable characters"],
  ["7.3", "Last-Event-ID counts before after, and empty is the start"],
  ["7.4", "the answer has exactly the events after the cursor"],
  ["7.5", "a malformed or foreign cursor is 400 cursor_invalid"],
  ["7.5", "events that are no longer kept are 410 cursor_expired", TIME],
  ["7.6", "a log that is no longer kept is 410 generation_expired", TIME],
  ["7.6.1", "an erased generation is 410 generation_erased", "an erasure needs the archive and a wait"],
  ["8", "no Accept is a stream, another one 406 not_acceptable"],
  ["8.1.1", "a stream has the events so far, then each new one"],
  ["8.1.1", "a frame is an id line, a data line and a blank line"],
  ["8.1.1", "U+0085, U+2028 and U+2029 are sent as escapes"],
  ["8.1.3", "15 seconds without a byte bring : ping"],
  ["8.1.5", "a response ends cleanly only after the terminal event"],
  ["8.1.6", "a cursor at the end is 204"],
  ["8.1.7", "an error after the headers is a frame without id, and a break"],
  ["8.1.8", "a node that shuts down sends retry and breaks", "a client can't shut a node down"],
  ["8.1.9", "a slow reader gets the same events"],
  ["8.2.1", "a page has the events after the cursor, at most limit"],
  ["8.2.1", "ended is true exactly at the end"],
  ["8.2.2", "a page waits for an event"],
  ["9", "an error has the status and retryable of its code"],
];

/** M-1, M-2, … in their order. */
export const REQUIREMENTS: readonly Requirement[] = ROWS.map(([section, text, untestable], index) => ({
  id: `M-${index + 1}`,
  section,
  text,
  ...(untestable !== undefined && { untestable }),
}));
