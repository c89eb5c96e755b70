import {
  encodeEvent,
  decodeEvent,
  parseGenerationRequest,
  REQUEST_SEQ,
  DEFAULT_POLICY,
} from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";

/* A client that calls the model server directly sends `messages`; one that calls the platform sends `input`. Both make one prompt. */

const MODEL = {
  upstreamModel: "org/m",
  continuation: "none",
  maxTokensField: "max_tokens",
  dialect: "openai",
} as const;

const anyText = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constant('"\\\n\u2028'),
);
const anyBytes = fc
  .uint8Array({ minLength: 1, maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString("base64"));
const anyName = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);

/** A part as a direct call has it, and as the platform has it. */
type Pair = readonly [direct: unknown, native: unknown];

const textPart: fc.Arbitrary<Pair> = anyText.map((text) => [
  { type: "text", text },
  { type: "text", text },
]);
const imagePart: fc.Arbitrary<Pair> = fc
  .record({
    bytes: anyBytes,
    type: fc.constantFrom("png", "jpeg", "svg+xml"),
    detail: fc.option(fc.constantFrom("auto", "low", "high")),
  })
  .map(({ bytes, type, detail }) => {
    const url = `data:image/${type};base64,${bytes}`;
    const more = detail === null ? {} : { detail };
    return [
      { type: "image_url", image_url: { url, ...more } },
      { type: "image", url, ...more },
    ];
  });
const audioPart: fc.Arbitrary<Pair> = fc
  .tuple(
    anyBytes,
    fc.constantFrom(["wav", "wav"], ["mpeg", "mp3"], ["mp3", "mp3"], ["x-wav", "wav"], ["flac", "flac"]),
  )
  .map(([data, [type, format]]) => [
    { type: "input_audio", input_audio: { data, format } },
    { type: "audio", url: `data:audio/${type};base64,${data}` },
  ]);
const filePart: fc.Arbitrary<Pair> = fc.tuple(anyBytes, fc.option(anyName)).map(([bytes, name]) => {
  const url = `data:application/pdf;base64,${bytes}`;
  return [
    { type: "file", file: { ...(name !== null && { filename: name }), file_data: url } },
    { type: "file", url, ...(name !== null && { name }) },
  ];
});
const refusalPart: fc.Arbitrary<Pair> = anyText.map((refusal) => [
  { type: "refusal", refusal },
  { type: "refusal", refusal },
]);

function content(...parts: fc.Arbitrary<Pair>[]): fc.Arbitrary<Pair> {
  const list = fc
    .array(fc.oneof(...parts), { minLength: 1, maxLength: 3 })
    .map((pairs): Pair => [pairs.map(([direct]) => direct), pairs.map(([, native]) => native)]);
  return fc.oneof(
    anyText.map((text): Pair => [text, text]),
    list,
  );
}

const spoken = fc
  .tuple(fc.constantFrom("system", "developer"), content(textPart))
  .map(([role, [direct, native]]): Pair[] => [
    [
      { role, content: direct },
      { role, content: native },
    ],
  ]);
const asked = content(textPart, imagePart, audioPart, filePart).map(([direct, native]): Pair[] => [
  [
    { role: "user", content: direct },
    { role: "user", content: native },
  ],
]);
const said = fc
  .tuple(content(textPart, refusalPart), fc.option(anyText))
  .map(([[direct, native], thought]): Pair[] => [
    [
      { role: "assistant", content: direct, ...(thought !== null && { reasoning_content: thought }) },
      { role: "assistant", content: native, ...(thought !== null && { reasoning: thought }) },
    ],
  ]);

/** A turn with calls, and the answers to them, or to some of them. */
const called = fc
  .record({
    calls: fc.array(fc.tuple(anyName, anyText), { minLength: 1, maxLength: 3 }),
    words: fc.option(anyText),
    answers: fc.array(fc.oneof(anyText, fc.jsonValue({ maxDepth: 3 })), { minLength: 1, maxLength: 3 }),
    id: fc.uuid(),
  })
  .map(({ calls, words, answers, id }): Pair[] => {
    const ids = calls.map((_, i) => `${id}-${i}`);
    const direct = calls.map(([name, args], i) => ({
      id: ids[i],
      type: "function",
      function: { name, arguments: args },
    }));
    const native = calls.map(([name, args], i) => ({ call_id: ids[i], name, arguments: args }));
    const turn: Pair = [
      { role: "assistant", content: words, tool_calls: direct },
      { role: "assistant", ...(words !== null && { content: words }), tool_calls: native },
    ];
    const results = answers.slice(0, calls.length).map((given, i): Pair => {
      // As it is stored: JSON has no -0.
      const answer = JSON.parse(JSON.stringify(given)) as unknown;
      const text = typeof answer === "string" ? answer : JSON.stringify(answer);
      return [
        { role: "tool", tool_call_id: ids[i], content: text },
        { role: "tool", call_id: ids[i], output: answer },
      ];
    });
    return [turn, ...results];
  });

const history = fc
  .array(fc.oneof(spoken, asked, said, called), { minLength: 1, maxLength: 8 })
  .map((turns) => turns.flat());

describe("any history", () => {
  test("is the prompt that a direct call would have had, byte for byte", () => {
    fc.assert(
      fc.property(history, (pairs) => {
        const input = pairs.map(([, native]) => native);
        const body = toChatRequest(stored({ model: "public", input }), NO_PROGRESS, MODEL);
        expect(JSON.stringify(body["messages"])).toBe(JSON.stringify(pairs.map(([direct]) => direct)));
      }),
      { numRuns: 500 },
    );
  });
});

/** Parses a body and passes it through the log, as for a worker. */
function stored(body: object): EngineRequest {
  const request = parseGenerationRequest(JSON.parse(JSON.stringify(body)));
  const draft = {
    type: "generation.requested",
    tenant: "t",
    generation: "g",
    created_at: "",
    request,
    policy: DEFAULT_POLICY,
  } as const;
  const event = decodeEvent(encodeEvent(REQUEST_SEQ, draft));
  return (event as { request: EngineRequest }).request;
}
