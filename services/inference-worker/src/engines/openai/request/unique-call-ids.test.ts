import { joinPrompt, type Message } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { NO_PREFIX } from "../../engine.ts";
import { formOf } from "../dialect-form.ts";
import { type RequestMessage, toRequestMessages } from "./request-messages.ts";
import { withUniqueCallIds } from "./unique-call-ids.ts";

const asks = (...ids: string[]): Message => ({
  role: "assistant",
  tool_calls: ids.map((call_id) => ({ call_id, name: "f", arguments: "{}" })),
});
const answers = (call_id: string, output: string): Message => ({ role: "tool", call_id, output });
const idsIn = (message: RequestMessage | undefined) =>
  ((message?.tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
const user = (content: string): Message => ({ role: "user", content });

test("a request that names two calls alike has another name for the second, and its answer follows", () => {
  const input = [
    user("a?"),
    asks("call_0"),
    answers("call_0", "1"),
    user("b?"),
    asks("call_0"),
    answers("call_0", "2"),
  ];
  const sent = toRequestMessages({ model: "m", input }, { turns: [], prefix: NO_PREFIX }, formOf("openai"));
  const [, first, firstAnswer, , second, secondAnswer] = sent;
  const [name = ""] = idsIn(second);
  expect([idsIn(first), firstAnswer?.tool_call_id]).toEqual([["call_0"], "call_0"]);
  expect(name).toMatch(/^[a-z0-9]{9}$/);
  expect(secondAnswer).toEqual({ role: "tool", tool_call_id: name, content: "2" });
});

test("a call of the generation itself is not taken for one of the conversation before it", () => {
  const input = [user("a?"), asks("call_0"), answers("call_0", "1"), user("b?")];
  const turns = [
    { type: "tool_call", call_id: "call_0", name: "f", arguments: "{}" },
    { type: "tool_result", call_id: "call_0", output: "2" },
  ] as const;
  const sent = toRequestMessages({ model: "m", input }, { turns, prefix: NO_PREFIX }, formOf("mistral"));
  const ids = sent.flatMap(idsIn);
  expect(new Set(ids).size).toBe(2);
  expect(sent.at(-1)?.tool_call_id).toBe(ids[1]);
});

/** Few ids, of which some are those that are made up. */
const anyId = fc.constantFrom("a", "b", "r00000001", "r00000002");
const anyMessage = fc.oneof(
  fc.constant(user("?")),
  fc.uniqueArray(anyId, { minLength: 1, maxLength: 3 }).map((ids) => asks(...ids)),
  fc.tuple(anyId, fc.string()).map(([id, output]) => answers(id, output)),
);
/** Conversations as requests have them: each answer has a call, and each call an answer. */
const anyConversation = fc.array(anyMessage, { maxLength: 20 }).map((messages) => joinPrompt([], messages));

const idsOf = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []).map(({ call_id: id }) => id) : [],
  );

/** Returns for each answer the number of its call, of all calls. */
function pairsOf(messages: readonly Message[]): (number | undefined)[] {
  const last = new Map<string, number>();
  let count = 0;
  const pairs: (number | undefined)[] = [];
  for (const message of messages) {
    if (message.role === "assistant")
      for (const { call_id: id } of message.tool_calls ?? []) last.set(id, count++);
    if (message.role === "tool") pairs.push(last.get(message.call_id));
  }
  return pairs;
}

const withoutIds = (messages: readonly Message[]) =>
  messages.map((message) =>
    JSON.parse(JSON.stringify(message), (key, value) => (key === "call_id" ? "" : value)),
  );

test("no two calls of any conversation have one id, every answer stays with its call, and nothing else changes", () => {
  fc.assert(
    fc.property(anyConversation, (messages) => {
      const unique = withUniqueCallIds(messages);
      const ids = idsOf(unique);
      expect(new Set(ids).size).toBe(ids.length);
      expect(pairsOf(unique)).toEqual(pairsOf(messages));
      expect(withoutIds(unique)).toEqual(withoutIds(messages));
    }),
  );
});

test("a conversation that grows reads as before up to where it was, and one without a double is left alone", () => {
  fc.assert(
    fc.property(anyConversation, fc.nat(20), (messages, length) => {
      const unique = withUniqueCallIds(messages);
      expect(unique.slice(0, length)).toEqual(withUniqueCallIds(messages.slice(0, length)));
      expect(withUniqueCallIds(unique)).toEqual(unique);
    }),
  );
});
