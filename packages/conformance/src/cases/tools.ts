import type { Case } from "../case.ts";
import { check, checkEqual, checkError, checkStatus } from "../check.ts";
import {
  answerTool,
  CALLING,
  cancel,
  createCalling,
  createEnded,
  hasEnded,
  readLog,
  readPage,
  readUntil,
  SHORT,
} from "../generation.ts";

export const toolCases: readonly Case[] = [
  {
    requirement: "M-36",
    name: "an answer, and the log after it",
    async run(target) {
      const { id, tool_calls: calls } = await createCalling(target);
      const callId = calls[0]!.call_id;
      const answer = await answerTool(target, id, callId);
      checkStatus(answer, 200);
      checkEqual("id", answer.json["id"], id);
      const { events } = await readPage(target, id);
      const result = events.find(({ type }) => type === "tool.result");
      checkEqual("tool.result", [result?.["call_id"], result?.["output"]], [callId, { found: callId }]);
    },
  },
  {
    requirement: "M-37",
    name: "two calls, the later one first",
    async run(target) {
      const { id, tool_calls: calls } = await createCalling(target);
      const ids = calls.map(({ call_id: callId }) => callId);
      checkEqual("different calls", new Set(ids).size, CALLING.tool_calls);
      for (const callId of ids.toReversed()) checkStatus(await answerTool(target, id, callId), 200);
      const { status, text } = await readUntil(target, id, hasEnded);
      checkEqual("status", status, "completed");
      const log = await readLog(target, id);
      const last = log.findLastIndex(({ type }) => type === "tool.result");
      check(
        log.slice(last).some(({ type }) => type === "output.delta"),
        "text after the answers",
        text,
      );
    },
  },
  {
    requirement: "M-38",
    name: "an equal and another answer to an answered call",
    async run(target) {
      const { id, tool_calls: calls } = await createCalling(target);
      const callId = calls[0]!.call_id;
      checkStatus(await answerTool(target, id, callId), 200);
      for (let repeats = 0; repeats < 2; repeats++)
        checkError(await answerTool(target, id, callId), 409, "tool_result_conflict");
      const results = (await readPage(target, id)).events.filter(({ type }) => type === "tool.result");
      checkEqual("tool.result events", results.length, 1);
    },
  },
  {
    requirement: "M-39",
    name: "calls that no log has",
    async run(target) {
      const { id } = await createCalling(target);
      checkError(await answerTool(target, id, "no-such-call"), 404, "tool_call_not_found");
      const { id: plain } = await createEnded(target, SHORT);
      checkError(await answerTool(target, plain, "call_1"), 404, "tool_call_not_found");
    },
  },
  {
    requirement: "M-40",
    name: "an answer after a cancel",
    async run(target) {
      const { id, tool_calls: calls } = await createCalling(target);
      checkStatus(await cancel(target, id), 200);
      checkError(await answerTool(target, id, calls[0]!.call_id), 409, "generation_ended");
    },
  },
];
