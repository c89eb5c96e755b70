import { describe, expect, it } from "vitest";
import { toolLog } from "../testing/example-log.ts";
import { type FakeDelivery, type Fault, startFakeDelivery } from "../testing/fake-delivery.ts";
import { FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient } from "../testing/test-runtime.ts";

const request = { model: "sim", input: "Hi", tools: [{ name: "look_up" }] };
const log = toolLog({ name: "look_up", arguments: '{"word":"log"}' });
const twoCalls = toolLog(
  { name: "look_up", arguments: '{"word":"a"}' },
  { name: "look_up", arguments: '{"word":"b"}' },
);

const generationsOf = ({ url }: FakeDelivery) => createTestClient(url).generations;

const answersIn = ({ requests }: FakeDelivery) =>
  requests.filter(({ url }) => url.endsWith("/tool-results")).map(({ body }) => JSON.parse(body) as unknown);

describe("a tool's answer", () => {
  it("is sent to the call, and answered with the generation", async () => {
    await using delivery = await startFakeDelivery({ log });
    const generation = await generationsOf(delivery).submitToolResult(FAKE_ID, {
      callId: "call_0",
      output: [7],
    });
    expect(generation.id).toBe(FAKE_ID);
    expect(delivery.requests[0]).toMatchObject({
      method: "POST",
      url: `/v1/generations/${FAKE_ID}/tool-results`,
      body: '{"call_id":"call_0","output":[7]}',
    });
  });

  it("that comes too late is a conflict, which no retry can mend", async () => {
    await using delivery = await startFakeDelivery({ log });
    const generations = generationsOf(delivery);
    await generations.submitToolResult(FAKE_ID, { callId: "call_0", output: 1 });
    const again = generations.submitToolResult(FAKE_ID, { callId: "call_0", output: 1 });
    await expect(again).rejects.toMatchObject({ code: "tool_result_conflict", param: "call_id" });
    expect(delivery.requests).toHaveLength(2);
  });
});

describe("a stream with tool calls", () => {
  it("shows those that wait, as of the event in hand", async () => {
    await using delivery = await startFakeDelivery({ log: twoCalls });
    const stream = generationsOf(delivery).stream(FAKE_ID);
    const pending: string[] = [];
    const statuses = new Set<string>();
    for await (const _ of stream) {
      pending.push(stream.pendingToolCalls.map(({ call_id }) => call_id).join());
      statuses.add(stream.status);
    }
    expect(pending).toEqual(["", "", "call_0", "call_0,call_1", "call_1", "", "", ""]);
    expect([...statuses]).toEqual(["in_progress", "awaiting_tool", "completed"]);
  });

  it("is answered by the app's functions, those of one turn at the same time", async () => {
    await using delivery = await startFakeDelivery({ log: twoCalls, awaitsTools: true });
    let atWork = 0;
    const both = Promise.withResolvers<void>();
    const look_up = async (args: unknown, { callId }: { callId: string }) => {
      if (++atWork === 2) both.resolve();
      await both.promise;
      return { args, callId };
    };
    const { text, status } = await generationsOf(delivery).run(request, { tools: { look_up } }).done();
    expect([text, status]).toEqual(["Let me see. It is 7.", "completed"]);
    // Each over a connection of its own: they come in any order.
    expect(new Set(answersIn(delivery))).toEqual(
      new Set([
        { call_id: "call_0", output: { args: { word: "a" }, callId: "call_0" } },
        { call_id: "call_1", output: { args: { word: "b" }, callId: "call_1" } },
      ]),
    );
  });

  it("runs each call once, over a break of the connection too", async () => {
    const faults: Fault[] = [{ kind: "end", afterEvents: 3 }];
    await using delivery = await startFakeDelivery({ log, awaitsTools: true, faults });
    let runs = 0;
    const stream = generationsOf(delivery).run(request, { tools: { look_up: () => ++runs } });
    await stream.done();
    expect([runs, stream.reconnects, answersIn(delivery)]).toEqual([
      1,
      1,
      [{ call_id: "call_0", output: 1 }],
    ]);
  });

  it("runs nothing that a replay brings together with its answer", async () => {
    await using delivery = await startFakeDelivery({ log });
    const look_up = () => expect.fail("it was answered");
    expect((await generationsOf(delivery).stream(FAKE_ID, { tools: { look_up } }).done()).status).toBe(
      "completed",
    );
  });

  it.each([
    ["", {}],
    ["[1]", [1]],
    ['{"word":', '{"word":'],
  ])("hands over what the model's text means, or the text: %j", async (text, expected) => {
    const calls = toolLog({ name: "look_up", arguments: text });
    await using delivery = await startFakeDelivery({ log: calls, awaitsTools: true });
    const seen: unknown[] = [];
    const look_up = (args: unknown) => void seen.push(args);
    await generationsOf(delivery).run(request, { tools: { look_up } }).done();
    expect(seen).toEqual([expected]);
    expect(answersIn(delivery)).toEqual([{ call_id: "call_0", output: null }]);
  });

  it("leaves a call without a function to others, and continues when they have answered", async () => {
    const calls = toolLog({ name: "look_up", arguments: "" }, { name: "toString", arguments: "" });
    await using delivery = await startFakeDelivery({ log: calls, awaitsTools: true });
    const generations = generationsOf(delivery);
    const stream = generations.run(request, { tools: { look_up: () => 1 } });
    const others: Promise<unknown>[] = [];
    for await (const { type } of stream) {
      if (type !== "tool.call") continue;
      for (const { call_id: callId, name } of stream.pendingToolCalls) {
        if (name === "toString") others.push(generations.submitToolResult(FAKE_ID, { callId, output: 2 }));
      }
    }
    await Promise.all(others);
    expect(stream.status).toBe("completed");
    expect(answersIn(delivery)).toHaveLength(2);
  });

  it.each(["tool_result_conflict", "tool_call_not_found", "generation_ended"])(
    "ignores that an answer is not wanted any more: %s",
    async (code) => {
      const body = JSON.stringify({ error: { code, message: "No.", retryable: false } });
      const faults: Fault[] = [{ kind: "none" }, { kind: "answer", status: 409, body }];
      await using delivery = await startFakeDelivery({ log, awaitsTools: true, faults });
      const generations = generationsOf(delivery);
      const answered = Promise.withResolvers<void>();
      const look_up = () => void answered.resolve();
      const reading = generations.run(request, { tools: { look_up } }).done();
      await answered.promise;
      while (answersIn(delivery).length === 0) await delivery.nextRequest();
      await generations.submitToolResult(FAKE_ID, { callId: "call_0", output: "another's" });
      expect((await reading).status).toBe("completed");
    },
  );

  it("throws what a function throws, from the loop and from done(), and closes its connection", async () => {
    await using delivery = await startFakeDelivery({ log, awaitsTools: true });
    const failure = new Error("the dictionary is gone");
    const look_up = () => {
      throw failure;
    };
    const stream = generationsOf(delivery).run(request, { tools: { look_up } });
    const closed = delivery.nextClose();
    const texts: string[] = [];
    const reading = (async () => {
      for await (const { type } of stream) texts.push(type);
    })();
    await expect(reading).rejects.toBe(failure);
    await expect(stream.done()).rejects.toBe(failure);
    await closed;
    expect([stream.text, stream.status, texts.length]).toEqual(["Let me see. ", "awaiting_tool", 3]);
  });

  it("throws what the platform has against an answer", async () => {
    const body = '{"error":{"code":"forbidden","message":"No.","retryable":false}}';
    const faults: Fault[] = [{ kind: "none" }, { kind: "answer", status: 403, body }];
    await using delivery = await startFakeDelivery({ log, awaitsTools: true, faults });
    const reading = generationsOf(delivery)
      .run(request, { tools: { look_up: () => 1 } })
      .done();
    await expect(reading).rejects.toMatchObject({ code: "forbidden" });
  });

  it("tells functions that are still at work that it is over", async () => {
    await using delivery = await startFakeDelivery({ log, awaitsTools: true });
    const begun = Promise.withResolvers<AbortSignal>();
    const look_up = (_args: unknown, { signal }: { signal: AbortSignal }) => {
      begun.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    };
    const generations = generationsOf(delivery);
    const reading = generations.run(request, { tools: { look_up } }).done();
    const signal = await begun.promise;
    expect(signal.aborted).toBe(false);
    await generations.submitToolResult(FAKE_ID, { callId: "call_0", output: "another's" });
    expect((await reading).status).toBe("completed");
    expect(signal.aborted).toBe(true);
  });
});
