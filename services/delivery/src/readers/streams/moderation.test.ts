import { type EventPage, type Generation, asSeq } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { everyView } from "../../testing/every-view.ts";
import { decide, halted, judge, moderatedBody, redacted } from "../../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  started,
  toolCall,
} from "../../testing/platform.ts";

const SECRET = "SECRET";
const readJson = { accept: "application/json" };

describe("a gate", () => {
  test("never delivers events beyond the cleared watermark: in streams, in pages, and in the API's generation", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
    await append(worker, started(), delta("clean "), delta(SECRET), toolCall("a"));
    await judge(platform, ref, 4, { cleared: asSeq(2) });
    const url = `${platform.node.url}${path}`;
    await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
    expect([(await reader.nextFrame())?.id, (await reader.nextFrame())?.id]).toEqual(["1-1", "1-2"]);
    const page = (await call(`${url}/events`, { headers: readJson })).json as EventPage;
    expect(page).toMatchObject({ events: [{ seq: 1 }, { seq: 2 }], cursor: "1-2", ended: false });
    const beyond = await call(`${url}/events?after=1-4&wait=50`, { headers: readJson });
    expect(beyond.json).toEqual({ object: "list", events: [], cursor: "1-4", ended: false });
    const generation = (await call(url)).json as Generation;
    expect(generation).toMatchObject({
      status: "awaiting_tool",
      text: "clean ",
      tool_calls: [],
      cursor: "1-2",
    });
    expect(reader.frames).toHaveLength(2);
  });

  test("shows nothing before moderation has said anything, and all of it in the end", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
    await append(worker, started(), delta(SECRET), completed());
    const url = `${platform.node.url}${path}`;
    expect((await call(url)).json).toMatchObject({
      status: "completed",
      text: "",
      cursor: "0-0",
      settled: false,
    });
    await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
    await decide(platform, ref, redacted(2));
    await judge(platform, ref, 4, { decided: asSeq(4) });
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-3", "1-4"]);
    expect(reader.bytes.toString()).not.toContain(SECRET);
    expect((await call(url)).json).toMatchObject({
      status: "completed",
      text: "[redacted]",
      cursor: "1-4",
      settled: true,
    });
  });

  test("has a long poll wait for what is cleared, not for what is there", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
    await append(worker, started(), delta("a"), delta("b"));
    const waiting = call(`${platform.node.url}${path}/events?wait=30000`, { headers: readJson });
    await expect
      .poll(async () => (await call(`${platform.node.opsUrl}/metrics`)).text)
      .toContain("\nreprise_hub_generations 1\n");
    await judge(platform, ref, 2);
    expect((await waiting).json).toMatchObject({ events: [{ seq: 1 }, { seq: 2 }], ended: false });
  });

  test("answers a cancel with the end, and with as much of the text as is cleared in time", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
    await append(worker, started(), delta("a"));
    await judge(platform, ref, 2);
    const { json } = await call(`${platform.node.url}${path}/cancel`, { method: "POST" });
    expect(json).toMatchObject({ status: "cancelled", text: "a", cursor: "1-2", settled: false });
  });
});

describe("retract", () => {
  test("tells a reader what to replace, and never sends withdrawn text to later readers, by any call", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "retract" });
    const { path, ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("a "), delta(SECRET));
    const url = `${platform.node.url}${path}/events`;
    await using reader = await openSseReader(url, { headers: authorization() });
    for (const seen of [1, 2, 3])
      expect(JSON.parse((await reader.nextFrame())!.data)).toMatchObject({ seq: seen });
    expect(reader.bytes.toString()).toContain(SECRET);
    await decide(platform, ref, redacted(3));
    expect(JSON.parse((await reader.nextFrame())!.data)).toMatchObject(redacted(3));
    await decide(platform, ref, delta(" b"));
    await decide(platform, ref, completed());
    await judge(platform, ref, 6, { decided: asSeq(4) });
    expect(await reader.ended).toBe("clean");
    const views = await everyView(platform, path);
    expect(views.filter((view) => view.includes(SECRET))).toEqual([]);
    expect(views.filter((view) => !view.includes("[redacted]"))).toEqual([]);
  });

  test("reads withdrawn text from the log as little as from memory", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "retract" });
    const { path, ref, worker } = await createGeneration(platform, { body });
    const long = "x".repeat(4_000);
    await append(worker, started(), delta(SECRET), ...Array.from({ length: 60 }, () => delta(long)));
    await decide(platform, ref, redacted(2));
    await judge(platform, ref, 63, { decided: asSeq(63) });
    const { url, opsUrl } = await platform.addNode({ hubBytes: 1 });
    await using reader = await openSseReader(`${url}${path}/events`, { headers: authorization() });
    while (reader.lastEventId !== "1-63") await reader.nextFrame();
    const page = await call(`${url}${path}/events?limit=2`, { headers: readJson });
    const views = [reader.bytes.toString(), page.text];
    expect(views.map((view) => [view.includes("[redacted]"), view.includes(SECRET)])).toEqual([
      [true, false],
      [true, false],
    ]);
    expect((await call(`${opsUrl}/metrics`)).text).toMatch(/^reprise_readers_fallen_back_total [1-9]/m);
  });

  test("holds the end back until it is judged, and then there is nothing more to withdraw", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "retract" });
    const { path, ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("a"), completed());
    const url = `${platform.node.url}${path}`;
    await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
    expect([(await reader.nextFrame())?.id, (await reader.nextFrame())?.id]).toEqual(["1-1", "1-2"]);
    expect((await call(url)).json).toMatchObject({
      status: "completed",
      text: "a",
      cursor: "1-2",
      settled: false,
    });
    const page = await call(`${url}/events`, { headers: readJson });
    expect(page.json).toMatchObject({ cursor: "1-2", ended: false });
    const late = await call(`${url}/events`, { headers: { "last-event-id": "1-3", ...readJson } });
    expect(late.json).toEqual({ object: "list", events: [], cursor: "1-3", ended: false });
    await using elsewhere = await openSseReader(`${url}/events`, { headers: authorization(), after: "1-3" });
    expect(elsewhere.status).toBe(200);
    await judge(platform, ref, 3);
    expect([await reader.ended, await elsewhere.ended]).toEqual(["clean", "clean"]);
    expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-3"]);
    expect((await call(`${url}/events?after=1-3`)).status).toBe(204);
    expect((await call(url)).json).toMatchObject({ status: "completed", settled: true });
  });

  test("withdraws all text that the worker appends after a halt", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "retract" });
    const { path, ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("a "), delta(SECRET));
    for (const draft of [halted(3), delta(`${SECRET} again`), completed()])
      await decide(platform, ref, draft);
    await judge(platform, ref, 6, { decided: asSeq(4) });
    const views = await everyView(platform, path);
    expect(views.filter((view) => view.includes(SECRET))).toEqual([]);
    expect((await call(`${platform.node.url}${path}`)).json).toMatchObject({ text: "a [halted]" });
  });

  test("after the end reaches readers that come again", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "retract" });
    const { path, ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta(SECRET), completed());
    await judge(platform, ref, 3);
    const url = `${platform.node.url}${path}/events`;
    await using first = await openSseReader(url, { headers: authorization() });
    expect(await first.ended).toBe("clean");
    await decide(platform, ref, redacted(2));
    await judge(platform, ref, 4, { decided: asSeq(4) });
    const again = () => call(url, { headers: { ...readJson, "last-event-id": "1-3" } });
    await expect.poll(async () => (await again()).text).toContain("moderation.redacted");
    expect((await call(url, { headers: readJson })).text).not.toContain(SECRET);
  });
});

test("retract is never further ahead of moderation than it may be, and says how far it was", async () => {
  await using platform = await openPlatform();
  const body = moderatedBody({ mode: "retract", max_lead_characters: 4 });
  const { path, ref, worker } = await createGeneration(platform, { body });
  const url = `${platform.node.url}${path}`;
  await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
  await append(worker, started(), delta("abc"), delta("d"), delta("e"), delta(""));
  for (const id of ["1-1", "1-2", "1-3"]) expect((await reader.nextFrame())?.id).toBe(id);
  await expect.poll(async () => (await call(url)).json).toMatchObject({ text: "abcd", cursor: "1-3" });
  const page = await call(`${url}/events`, { headers: readJson });
  expect(page.json).toMatchObject({ cursor: "1-3", ended: false });
  await judge(platform, ref, 2);
  for (const id of ["1-4", "1-5"]) expect((await reader.nextFrame())?.id).toBe(id);
  await append(worker, completed());
  await judge(platform, ref, 6);
  expect(await reader.ended).toBe("clean");
  const metrics = (await call(`${platform.node.opsUrl}/metrics`)).text;
  expect(metrics).toMatch(/^reprise_moderation_lag_seconds_count 2$/m);
  expect(metrics).toMatch(/^reprise_moderation_lag_characters_sum 6$/m);
});

describe("without moderation", () => {
  const wait = { answer: "fail_closed", after_ms: 50 } as const;

  test("fail_closed gives readers what is cleared and breaks them off; they continue once verdicts come", async () => {
    await using platform = await openPlatform();
    const nodes = [platform.node, await platform.addNode()];
    const body = moderatedBody({ mode: "gate", on_unavailable: wait });
    const { path, ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("a"), delta("b"));
    await judge(platform, ref, 2);
    for (const { url } of nodes) {
      await using reader = await openSseReader(`${url}${path}/events`, { headers: authorization() });
      expect(await reader.ended).toBe("broken");
      expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-2"]);
      expect(reader.retryMs).toBe(1_000);
      expect(JSON.parse(reader.frames.at(-1)!.data)).toMatchObject({
        error: { code: "moderation_unavailable", retryable: true },
      });
      const page = await call(`${url}${path}/events?after=1-2&wait=50`, { headers: readJson });
      expect(page.json).toEqual({ object: "list", events: [], cursor: "1-2", ended: false });
      expect((await call(`${url}${path}`)).json).toMatchObject({ text: "a", cursor: "1-2" });
    }
    const { events } = await platform.log.reader.readLog(ref);
    const recorded = events.map((payload) => Buffer.from(payload).toString()).slice(4);
    expect(recorded).toEqual([
      '{"seq":4,"type":"moderation.unavailable","answer":"fail_closed","judged_seq":2}',
    ]);
    const metrics = await Promise.all(nodes.map(({ opsUrl }) => call(`${opsUrl}/metrics`)));
    const counted = metrics.filter(({ text }) =>
      text.includes('reprise_moderation_unavailable_total{answer="fail_closed"} 1'),
    );
    expect(counted).toHaveLength(1);
    await using reader = await openSseReader(`${nodes[0]!.url}${path}/events`, {
      headers: authorization(),
      after: "1-2",
    });
    await reader.ended;
    await judge(platform, ref, 4);
    await expect
      .poll(async () => (await call(`${nodes[0]!.url}${path}`)).json)
      .toMatchObject({ text: "ab", cursor: "1-4" });
  });

  test("fail_open shows unjudged events, and records that in the log", async () => {
    await using platform = await openPlatform();
    const body = moderatedBody({ mode: "gate", on_unavailable: { answer: "fail_open", after_ms: 50 } });
    const { path, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("a"));
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    for (const id of ["1-1", "1-2", "1-3"]) expect((await reader.nextFrame())?.id).toBe(id);
    expect(JSON.parse(reader.frames[2]!.data)).toMatchObject({
      type: "moderation.unavailable",
      judged_seq: 0,
    });
    await append(worker, delta("b"), completed());
    expect(await reader.ended).toBe("clean");
  });
});
