import {
  asSeq,
  createGenerationId,
  decodeEvent,
  DEFAULT_POLICY,
  DIALECTS,
  effectiveRequest,
  encodeEvent,
  type EventDraft,
  type GenerationId,
  joinPrompt,
  parseGenerationRequest,
  type Prompt,
  promptBehind,
  type RequestedEvent,
  Transcript,
} from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";

/*
 * A client that keeps the history itself sends all of it with each request. A client that names a conversation sends its new turn alone. Both must result
 * in the same body of an upstream request, byte for byte, after any history. The test makes the histories first, as messages, and
 * derives the logs from them.
 */

const usage = { input_tokens: 1, output_tokens: 1 };
const anyText = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 6 }),
  fc.constant('"\\\n\u2028'),
);
const anyOutput = fc.oneof(anyText, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<string>);

/** One run of the model within a turn: what it thinks and says, and the calls that are answered before the next. */
const anyInner = fc.record({
  thought: fc.option(anyText, { nil: "" }),
  state: fc.option(
    anyText.map((signature) => ({ google: { signature } })),
    { nil: undefined },
  ),
  text: fc.option(anyText, { nil: "" }),
  calls: fc.array(fc.record({ name: fc.constantFrom("f", "g"), args: anyText, output: anyOutput }), {
    maxLength: 3,
  }),
  /** In which order the answers come, and whether each comes before the next but one call. */
  answersAtOnce: fc.boolean(),
  isReversed: fc.boolean(),
});

const anyTurn = fc.record({
  input: fc.oneof(
    anyText,
    fc.array(
      fc.oneof(
        anyText.map((content) => ({ role: "user", content })),
        fc
          .array(anyText, { minLength: 1, maxLength: 2 })
          .map((texts) => ({ role: "user", content: texts.map((text) => ({ type: "text", text })) })),
        anyText.map((content) => ({ role: "system", content })),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  ),
  inner: fc.array(anyInner, { minLength: 1, maxLength: 3 }),
  last: anyText,
  pieces: fc.integer({ min: 1, max: 3 }),
  /** An attempt before it whose text does not count. */
  rewound: fc.option(anyText, { nil: undefined }),
  end: fc.constantFrom("completed", "cancelled", "failed"),
  redaction: fc.option(anyText, { nil: undefined }),
});
type Turn = typeof anyTurn extends fc.Arbitrary<infer T> ? T : never;

/** The messages that a client would have of the turn. */
function toExpected(turn: Turn, n: number): object[] {
  const own = typeof turn.input === "string" ? [{ role: "user", content: turn.input }] : turn.input;
  const runs = turn.inner.filter(({ calls }) => calls.length > 0);
  return [
    ...own,
    ...runs.flatMap(({ thought, state, text, calls }, i) => [
      {
        role: "assistant",
        ...(text !== "" && { content: text }),
        ...(thought !== "" && { reasoning: thought }),
        tool_calls: calls.map(({ name, args }, j) => ({
          call_id: `${n}.${i}.${j}`,
          name,
          arguments: args,
          ...(state && { provider_state: state }),
        })),
      },
      ...calls.map(({ output }, j) => ({ role: "tool", call_id: `${n}.${i}.${j}`, output })),
    ]),
    { role: "assistant", content: turn.redaction ?? turn.last },
  ];
}

/** The events of its log after seq 0. */
function toEvents(turn: Turn, n: number): EventDraft[] {
  const events: EventDraft[] = [];
  const begin = (attempt: number) =>
    events.push({ type: "generation.started", attempt, worker: "w", model: "m" });
  begin(1);
  if (turn.rewound !== undefined) {
    events.push({ type: "output.delta", text: turn.rewound });
    begin(2);
    events.push({ type: "output.rewind", to_seq: asSeq(0), reason: "worker_lost" });
  }
  for (const [i, { thought, state, text, calls, answersAtOnce, isReversed }] of turn.inner
    .filter(({ calls: made }) => made.length > 0)
    .entries()) {
    for (const piece of cut(thought, turn.pieces)) events.push({ type: "reasoning.delta", text: piece });
    for (const piece of cut(text, turn.pieces)) events.push({ type: "output.delta", text: piece });
    const answers = calls.map(({ output }, j): EventDraft => ({
      type: "tool.result",
      call_id: `${n}.${i}.${j}`,
      output,
    }));
    for (const [j, { name, args }] of calls.entries()) {
      events.push({
        type: "tool.call",
        call_id: `${n}.${i}.${j}`,
        name,
        arguments: args,
        ...(state && { provider_state: state }),
      });
      // One of them waits at any time: until it is answered a further call is of the same run.
      if (answersAtOnce && j > 0) events.push(answers[j - 1]!);
    }
    const left = answersAtOnce ? answers.slice(-1) : answers;
    events.push(...(isReversed ? left.toReversed() : left));
  }
  events.push({ type: "reasoning.delta", text: "Thought before an answer." });
  const from = events.length + 1;
  for (const piece of cut(turn.last, turn.pieces)) events.push({ type: "output.delta", text: piece });
  const to = events.length;
  const redaction: EventDraft[] =
    turn.redaction === undefined
      ? []
      : [
          {
            type: "moderation.redacted",
            from_seq: asSeq(from),
            to_seq: asSeq(to),
            replacement: turn.redaction,
            rule: "r",
            category: "c",
          },
        ];
  const end: EventDraft =
    turn.end === "completed"
      ? { type: "generation.completed", finish_reason: "stop", usage }
      : turn.end === "cancelled"
        ? { type: "generation.cancelled", reason: "r", usage }
        : { type: "generation.failed", error: { code: "internal", message: "m", retryable: false }, usage };
  return [...events, end, ...redaction];
}

function cut(text: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / pieces));
  const parts: string[] = [];
  for (let i = 0; i < text.length; i += size) parts.push(text.slice(i, i + size));
  return parts;
}

const idOf = (n: number): GenerationId => createGenerationId(new Uint8Array(17).fill(n), 1);

function toRequested(turn: Turn, n: number, prompt: Prompt): RequestedEvent {
  const conversation = `conv_${"0".repeat(26)}`;
  const draft = {
    type: "generation.requested",
    tenant: "acme",
    generation: idOf(n),
    created_at: "2026-11-24T00:00:00Z",
    request: parseGenerationRequest({ model: "m", input: turn.input, conversation }),
    ...(prompt.length > 0 && { prompt }),
    policy: DEFAULT_POLICY,
  } as const;
  const stored = decodeEvent(encodeEvent(asSeq(0), draft));
  if (stored.type !== "generation.requested") throw new TypeError("not a request");
  return stored;
}

function fold(turn: Turn, n: number): Transcript {
  const transcript = new Transcript();
  for (const [i, draft] of toEvents(turn, n).entries())
    transcript.apply(decodeEvent(encodeEvent(asSeq(i + 1), draft)));
  return transcript;
}

const bodyOf = (request: RequestedEvent["request"], dialect: (typeof DIALECTS)[number]) => {
  const { conversation: _, ...sent } = request;
  const model = { upstreamModel: "u", continuation: "none", maxTokensField: "max_tokens", dialect } as const;
  return JSON.stringify(toChatRequest(sent, NO_PROGRESS, model));
};

test("each turn of any conversation makes the request that its history sent whole would have made, in every dialect", () => {
  fc.assert(
    fc.property(fc.array(anyTurn, { minLength: 1, maxLength: 5 }), (turns) => {
      let prompt: Prompt = [];
      let history: object[] = [];
      let isBegun = false;
      for (const [n, turn] of turns.entries()) {
        const requested = toRequested(turn, n, prompt);
        const own = typeof turn.input === "string" ? [{ role: "user", content: turn.input }] : turn.input;
        const whole = { ...requested.request, input: [...history, ...own] } as RequestedEvent["request"];
        for (const dialect of DIALECTS)
          expect(bodyOf(effectiveRequest(requested), dialect)).toBe(bodyOf(whole, dialect));
        const transcript = fold(turn, n);
        prompt = promptBehind({ requested, transcript, seq: transcript.cursor.seq });
        if (turn.end !== "failed") history = [...history, ...toExpected(turn, n)];
        else if (!isBegun) history = leading(own);
        isBegun = history.length > 0;
      }
    }),
    { numRuns: 150 },
  );
});

/** Instructions from the beginning stay, though the turn that they came with has failed. */
function leading(own: readonly object[]): object[] {
  const rest = own.findIndex((message) => (message as { role: string }).role !== "system");
  return own.slice(0, rest === -1 ? own.length : rest);
}

test("what a model was given stays the beginning of what it is given next", () => {
  fc.assert(
    fc.property(fc.array(anyTurn, { minLength: 2, maxLength: 5 }), (turns) => {
      let prompt: Prompt = [];
      for (const [n, turn] of turns.entries()) {
        const before = joinPrompt(prompt, []);
        const requested = toRequested(turn, n, prompt);
        const transcript = fold(turn, n);
        prompt = promptBehind({ requested, transcript, seq: transcript.cursor.seq });
        expect(joinPrompt(prompt, []).slice(0, before.length)).toEqual(before);
      }
    }),
  );
});
