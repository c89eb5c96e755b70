import { decodeEvent, encodeEvent, type KnownEvent, Transcript, Withdrawals, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { delta, GATE, JudgedLog } from "../testing/log-of.ts";
import { wordRules } from "../testing/word-rules.ts";
import { findInCall } from "./find-in-call.ts";
import { drain } from "./text/push-in-pieces.ts";
import { Judge } from "./judge.ts";

const RULES = wordRules({ secret: "redact", poison: "halt" });
const call = (name: string, args = "{}") =>
  ({ type: "tool.call", call_id: "c", name, arguments: args }) as const;

/** The calls of a log as readers get them, and as they fold them. */
function callsOf(log: JudgedLog): (readonly [name: string, args: string])[] {
  const withdrawals = new Withdrawals();
  for (const event of log.events) withdrawals.apply(event);
  const calls = log.events.flatMap(({ seq, ...draft }) => {
    const event = decodeEvent(withdrawals.project(seq, encodeEvent(seq, draft))) as KnownEvent;
    return event.type === "tool.call" ? [[event.name, event.arguments] as const] : [];
  });
  const transcript = new Transcript();
  for (const event of log.events) transcript.apply(event);
  const folded = transcript.output.flatMap((item) =>
    item.type === "tool_call" ? [[item.name, item.arguments]] : [],
  );
  expect(folded).toEqual(calls);
  return calls;
}

test("the name of a function that the request does not have is text of the model", () => {
  const log = new JudgedLog(RULES);
  log.append(call("look_up_secret", '{"a":1}'), call("b", '"secret"'), call("secret", '"secret"'));
  expect(log.events.filter(({ type }) => type.startsWith("moderation."))).toMatchObject([
    { from_seq: 2, to_seq: 2, channel: "tool_name", replacement: "look_up_***" },
    { channel: "tool" },
    { channel: "tool_name" },
    { channel: "tool" },
  ]);
  expect(callsOf(log)).toEqual([
    ["look_up_***", '{"a":1}'],
    ["b", '"***"'],
    ["***", '"***"'],
  ]);
  expect(log.judge.cleared).toBe(log.events.length);
});

test("a halt leaves neither arguments nor names", () => {
  const log = new JudgedLog(RULES);
  log.append(delta("a"), call("poison"), call("look_up"));
  expect(callsOf(log)).toEqual([
    ["", "***"],
    ["", ""],
  ]);
  const other = new JudgedLog(RULES);
  other.append(call("look_up", '"the poison"'));
  expect(callsOf(other)).toEqual([["", '"the ***']]);
});

test("the name of one of the request's functions is the client's", () => {
  const functions = new Set(["secret"]);
  expect(drain(findInCall({ ...call("secret"), seq: asSeq(2) }, { ruleSet: RULES, functions }))).toEqual([]);
  const judge = new Judge({ moderation: GATE, ruleSet: RULES });
  const request = { model: "sim", input: "Hi", tools: [{ name: "secret" }] };
  judge.fold({ seq: 0, type: "generation.requested", request } as KnownEvent);
  judge.fold({ ...call("secret"), seq: asSeq(1) });
  expect([judge.findings.count, judge.cleared]).toEqual([0, 1]);
});
