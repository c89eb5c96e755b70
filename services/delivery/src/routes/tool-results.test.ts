import { type Generation, LIMITS, asSeq } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  openWorker,
  type Platform,
  rewind,
  started,
  toolCall,
} from "../testing/platform.ts";
import { judge, moderatedBody } from "../testing/moderation.ts";

/** A generation that waits for the answers to these calls. */
async function ask(platform: Platform, ...callIds: readonly string[]) {
  const generation = await createGeneration(platform);
  await append(generation.worker, started(), ...callIds.map((id) => toolCall(id)));
  return { ...generation, url: `${platform.node.url}${generation.path}` };
}

const answer = (url: string, call_id: string, output: unknown = { found: [1, null] }) =>
  call(`${url}/tool-results`, { body: { call_id, output } });

const codesOf = (answers: readonly { status: number; json: unknown }[]) =>
  answers.map(({ status, json }) => [status, (json as { error?: { code: string } }).error?.code]);

describe("a tool's answer", () => {
  test("is taken for no call that moderation holds, though its id is guessed, and is once readers may see it", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "gate", rules: ["cards"] });
    const { worker, ref, path } = await createGeneration(platform, { body });
    const url = `${platform.node.url}${path}`;
    await append(worker, started(), delta("a text that a person is to see"), toolCall("call_1"));
    await judge(platform, ref, 3, { cleared: asSeq(1) });
    expect(codesOf([await answer(url, "call_1")])).toEqual([[404, "tool_call_not_found"]]);
    expect((await platform.log.reader.readLog(ref)).events).toHaveLength(4);
    await judge(platform, ref, 3);
    expect((await answer(url, "call_1")).status).toBe(200);
  });

  test("is taken once the log has it, and answered with the generation as of then", async () => {
    await using platform = await openPlatform();
    const { url, ref } = await ask(platform, "a", "b");
    const waiting = await call(url);
    expect(waiting.json).toMatchObject({
      status: "awaiting_tool",
      tool_calls: [
        { call_id: "a", name: "look_up", arguments: '{"word":"log"}' },
        { call_id: "b", name: "look_up", arguments: '{"word":"log"}' },
      ],
    });
    const { status, json } = await answer(url, "b");
    expect([status, json]).toMatchObject([
      200,
      { status: "awaiting_tool", tool_calls: [{ call_id: "a" }], cursor: "1-4" },
    ]);
    expect((await answer(url, "a", null)).json).toMatchObject({
      status: "in_progress",
      tool_calls: [],
      cursor: "1-5",
    });
    const { events } = await platform.log.reader.readLog(ref);
    expect(events.slice(-2).map((payload) => JSON.parse(Buffer.from(payload).toString()) as unknown)).toEqual(
      [
        { seq: 4, type: "tool.result", call_id: "b", output: { found: [1, null] } },
        { seq: 5, type: "tool.result", call_id: "a", output: null },
      ],
    );
  });

  test("reaches every reader, whose connections stay open over the waiting", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { url, path, ref } = await ask(platform, "a");
    await using reader = await openSseReader(`${other.url}${path}/events`, { headers: authorization() });
    await using early = await openSseReader(`${url}/events`, { headers: authorization() });
    await reader.nextFrame();
    await answer(url, "a", "it is 7");
    const worker = await openWorker(platform.log, ref);
    await append(worker, delta("7."), completed());
    expect([await reader.ended, await early.ended]).toEqual(["clean", "clean"]);
    expect(reader.bytes).toEqual(early.bytes);
    expect(reader.frames.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toEqual([
      "generation.started",
      "tool.call",
      "tool.result",
      "output.delta",
      "generation.completed",
    ]);
  });

  test("is taken once: of twenty at once through two nodes, one", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { url, path, ref } = await ask(platform, "a");
    const urls = [url, `${other.url}${path}`];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => answer(urls[i % 2]!, "a", i % 3 === 0 ? "same" : i)),
    );
    const refused = codesOf(answers).filter(([status]) => status !== 200);
    expect(refused).toEqual(Array.from({ length: 19 }, () => [409, "tool_result_conflict"]));
    const { events } = await platform.log.reader.readLog(ref);
    expect(events).toHaveLength(4);
  });

  test("comes too late when there is one, also when it says the same, also after the end", async () => {
    await using platform = await openPlatform();
    const { url, ref } = await ask(platform, "a", "b");
    await answer(url, "a", 1);
    expect(codesOf([await answer(url, "a", 1)])).toEqual([[409, "tool_result_conflict"]]);
    await append(await openWorker(platform.log, ref), completed());
    expect(
      codesOf([await answer(url, "a", 1), await answer(url, "b", 1), await answer(url, "c", 1)]),
    ).toEqual([
      [409, "tool_result_conflict"],
      [409, "generation_ended"],
      [404, "tool_call_not_found"],
    ]);
  });

  test("to a call that the log does not have, or that was rewound, finds none", async () => {
    await using platform = await openPlatform();
    const { url, worker, ref } = await ask(platform, "a");
    expect(codesOf([await answer(url, "b"), await answer(url, "A")])).toEqual([
      [404, "tool_call_not_found"],
      [404, "tool_call_not_found"],
    ]);
    await append(worker, started(2), rewind(1));
    expect(codesOf([await answer(url, "a")])).toEqual([[404, "tool_call_not_found"]]);
    await append(worker, toolCall("a2"));
    expect(codesOf([await answer(url, "a2")])).toEqual([[200, undefined]]);
    await append(await openWorker(platform.log, ref), completed());
    expect(codesOf([await answer(url, "a")])).toEqual([[404, "tool_call_not_found"]]);
  });

  test("may be as large as its limit, which is said to one that is larger", async () => {
    await using platform = await openPlatform();
    const { url, ref } = await ask(platform, "a");
    const output = "x".repeat(LIMITS.toolOutputBytes - 2);
    const { status, json } = await answer(url, "a", `${output}x`);
    expect([status, json]).toMatchObject([
      400,
      {
        error: {
          code: "invalid_request",
          param: "output",
          message: expect.stringContaining(`${LIMITS.toolOutputBytes}`),
        },
      },
    ]);
    expect(codesOf([await answer(url, "a", "x".repeat(LIMITS.bodyBytes))])).toEqual([
      [413, "body_too_large"],
    ]);
    expect(codesOf([await answer(url, "a", output)])).toEqual([[200, undefined]]);
    expect((await platform.log.reader.readLog(ref)).events).toHaveLength(4);
  });

  test("that races with a cancel has one winner, and both are told the truth", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    for (let round = 0; round < 15; round++) {
      const { url, path } = await ask(platform, "a");
      const [answered, cancelled] = await Promise.all([
        answer(`${other.url}${path}`, "a"),
        call(`${url}/cancel`, { method: "POST" }),
      ]);
      const { events } = (await call(`${url}/events`, { headers: { accept: "application/json" } })).json as {
        events: { type: string }[];
      };
      expect((cancelled.json as Generation).status).toBe("cancelled");
      expect(events.at(-1)!.type).toBe("generation.cancelled");
      const hasResult = events.some(({ type }) => type === "tool.result");
      expect(codesOf([answered])).toEqual([hasResult ? [200, undefined] : [409, "generation_ended"]]);
    }
  });
});
