import { afterEach, describe, expect, test, vi } from "vitest";
import { EngineSilence, type Server } from "../../engine.ts";
import { content, DONE, finish, usage } from "../../testing/chat-frames.ts";
import { type Answer, startMisbehavingServer } from "../../testing/misbehaving-server.ts";
import { startReplicaWorld } from "../../testing/openai-world.ts";

afterEach(() => void vi.useRealTimers());

const says = (text: string): Answer => ({ body: [content(text), finish(), usage(9, 1), DONE] });
const BREAKS: Answer = { status: 500 };
/** A probe that is answered. */
const THERE: Answer = { headers: { "content-type": "application/json" }, body: ["{}"] };

describe("a model with several servers", () => {
  test("asks the one with the fewest requests: those that take longer get fewer", async () => {
    await using world = await startReplicaWorld(3);
    const held = Promise.withResolvers<void>();
    const slow: Answer = { body: [held.promise, ...says("slow").body!] };
    world.willAnswer([slow, slow, slow]);
    world.servers[0]!.willAnswer(says("a"));
    const first = [world.run(), world.run(), world.run()];
    await Promise.all(world.servers.map((server) => server.nextRequest()));
    expect(world.asked()).toEqual([1, 1, 1]);
    expect(world.engine.replicas!.views().map(({ inFlight }) => inFlight)).toEqual([1, 1, 1]);
    held.resolve();
    expect((await Promise.all(first)).map(({ text }) => text)).toEqual(["slow", "slow", "slow"]);
    expect(world.engine.replicas!.views().map(({ inFlight }) => inFlight)).toEqual([0, 0, 0]);
  });

  test.each<[string, Answer]>([
    ["has no room (503)", { status: 503, headers: { "retry-after-ms": "60000" } }],
    ["is asked too often (429)", { status: 429 }],
  ])(
    "asks the next where one %s, within the same run, and leaves it alone for a while",
    async (_, refusal) => {
      // The time for which it is left alone does not pass.
      vi.useFakeTimers({ toFake: ["performance"] });
      await using world = await startReplicaWorld(2);
      const [other, served] = world.servers;
      other!.willAnswer(refusal);
      for (let i = 0; i < 4; i++) served!.willAnswer(says("here"));
      const route = { avoid: new Set([served!.baseUrl]), took: () => undefined };
      expect((await world.run({ route })).text).toBe("here");
      expect(world.asked()).toEqual([1, 1]);
      expect((await world.run()).text).toBe("here");
      expect(world.asked()).toEqual([1, 2]);
      expect(world.told).toEqual([
        ["ended", 0, "busy"],
        ["ended", 1, "answered"],
        ["ended", 1, "answered"],
      ]);
    },
  );

  test("asks each once where all are busy, and fails with the one that is over first", async () => {
    await using world = await startReplicaWorld(3);
    world.willAnswer([
      { status: 503, headers: { "retry-after": "60" } },
      { status: 429, headers: { "retry-after-ms": "200" } },
      { status: 503, headers: { "retry-after": "30" } },
    ]);
    expect((await world.run()).error).toMatchObject({ code: "engine_unavailable", retryAfterMs: 200 });
    expect(world.asked()).toEqual([1, 1, 1]);
  });

  test("asks the next where one is dead, ejects it after three requests, and asks it no more", async () => {
    await using gone = await startMisbehavingServer();
    await gone[Symbol.asyncDispose]();
    await using world = await startReplicaWorld(1, { moreBaseUrls: [gone.baseUrl] });
    const route = { avoid: new Set([world.servers[0]!.baseUrl]), took: () => undefined };
    for (let i = 0; i < 5; i++) {
      world.servers[0]!.willAnswer(says("alive"));
      expect((await world.run({ route })).text).toBe("alive");
    }
    const because = "The engine could not be reached (ECONNREFUSED).";
    expect(world.told.filter(([, replica]) => replica === 1)).toEqual([
      ["ended", 1, "failed"],
      ["ended", 1, "failed"],
      ["ended", 1, "failed"],
      ["ejected", 1, because],
    ]);
    expect(world.engine.replicas!.views()[1]).toEqual({ inFlight: 0, isEjected: true });
  });

  test("does not put a request that broke a server to another one by itself, and ejects one that breaks thrice", async () => {
    await using world = await startReplicaWorld(2);
    const broken: Answer[] = [BREAKS, { body: [content("Once")], end: "cut" }, { body: [content("Once")] }];
    for (const answer of broken) world.servers[0]!.willAnswer(answer);
    world.servers[1]!.willAnswer(says("fine"));
    const route = { avoid: new Set([world.servers[1]!.baseUrl]), took: () => undefined };
    for (const _ of broken) expect((await world.run({ route })).error).toMatchObject({ retry: "broken" });
    expect(world.asked()).toEqual([3, 0]);
    expect(world.told.at(-1)).toEqual(["ejected", 0, "The engine's answer ended without a finish reason."]);
    expect((await world.run({ route })).text).toBe("fine");
  });

  test("ejects a server that stops in mid-stream, where a policy of some patience found that thrice", async () => {
    await using world = await startReplicaWorld(2);
    const stops: Answer = { body: [content("Once")], end: "never" };
    const route = { avoid: new Set([world.servers[1]!.baseUrl]), took: () => undefined };
    for (const silentMs of [100, 10_000, 10_000, 10_000]) {
      world.servers[0]!.willAnswer(stops);
      const abort = new AbortController();
      const events = world.engine.generate(
        { model: "public", input: "Hi" },
        { turns: [], prefix: { text: "", tokens: 0 }, signal: abort.signal, route },
      );
      const reason = new EngineSilence(silentMs);
      await expect(
        (async () => {
          for await (const _ of events) abort.abort(reason);
        })(),
      ).rejects.toBe(reason);
    }
    expect(world.told).toEqual([
      ["ended", 0, "left"],
      ["ended", 0, "failed"],
      ["ended", 0, "failed"],
      ["ended", 0, "failed"],
      ["ejected", 0, "The engine said nothing for 10000 ms."],
    ]);
  });

  test.each<[string, Answer]>([
    ["refuses as wrong", { status: 400 }],
    ["answers with an error of its own", { body: ['data: {"error":{"code":400,"message":"no"}}\n\n'] }],
  ])("does not hold against a server a request that it %s", async (_, answer) => {
    await using world = await startReplicaWorld(2);
    world.willAnswer([answer, answer], 10);
    for (let i = 0; i < 10; i++) await world.run();
    expect(new Set(world.told.map(([kind, , what]) => [kind, what].join()))).toEqual(new Set(["ended,left"]));
  });

  test("says which server it asks, and asks another than those where attempts have failed", async () => {
    await using world = await startReplicaWorld(2);
    const took: Server[] = [];
    world.willAnswer([says("a"), says("b")], 3);
    for (let i = 0; i < 3; i++) {
      const avoid = new Set([world.servers[0]!.baseUrl]);
      expect((await world.run({ route: { avoid, took: (server) => took.push(server) } })).text).toBe("b");
    }
    const { port } = new URL(world.servers[1]!.baseUrl);
    const server = { id: world.servers[1]!.baseUrl, host: "127.0.0.1", port: Number(port) };
    expect(took).toEqual([server, server, server]);
  });
});

describe("requests whose prompts begin alike", () => {
  /** By chance, all of them go to too few servers once in 10^11 runs. */
  const MANY = 64;
  const conversationOf = (i: number) => `conv_${String(i).padStart(26, "a")}` as never;

  test("go to the same server, and others to others", async () => {
    await using world = await startReplicaWorld(3, { hasAffinity: true });
    const metBy = async (i: number) => {
      const took: string[] = [];
      for (let turn = 0; turn < 2; turn++) {
        world.willAnswer([says("a"), says("a"), says("a")]);
        const route = { avoid: new Set<string>(), took: ({ id }: Server) => void took.push(id) };
        await world.run({ route }, { conversation: conversationOf(i) });
      }
      return new Set(took);
    };
    const met = [];
    // Servers have other ports, and so other conversations, in each run.
    for (let i = 0; i < MANY; i++) met.push(await metBy(i));
    expect(met.map(({ size }) => size)).toEqual(Array(MANY).fill(1));
    expect(new Set(met.flatMap((ids) => [...ids])).size).toBe(3);
  });

  test("go to the next in their order while their server has no room, and back", async () => {
    await using world = await startReplicaWorld(2, { hasAffinity: true });
    const took: string[] = [];
    const route = { avoid: new Set<string>(), took: ({ id }: Server) => void took.push(id) };
    const run = () => world.run({ route }, { conversation: conversationOf(1) });
    const held = Promise.withResolvers<void>();
    const slow: Answer = { body: [held.promise, ...says("slow").body!] };
    world.willAnswer([slow, slow], 3);
    const runs: Promise<unknown>[] = [];
    // Of two and this one each may have two.
    for (let i = 0; i < 3; i++) {
      const asked = Promise.race(world.servers.map((server) => server.nextRequest()));
      runs.push(run());
      await asked;
    }
    held.resolve();
    await Promise.all(runs);
    const home = world.servers.find(({ baseUrl }) => baseUrl === took[0])!;
    expect(took.map((id) => id === home.baseUrl)).toEqual([true, true, false]);
    await run();
    expect(took.at(-1)).toBe(home.baseUrl);
  });

  test("of two tenants are not alike where servers keep each tenant's prompts apart", async () => {
    await using world = await startReplicaWorld(8, { hasAffinity: true, dialect: "vllm" });
    const took: string[] = [];
    const route = { avoid: new Set<string>(), took: ({ id }: Server) => void took.push(id) };
    for (let i = 0; i < MANY; i++) {
      for (const server of world.servers) server.willAnswer(says("a"));
      await world.run({ route, tenant: `tenant-${i}` as never });
    }
    expect(new Set(took).size).toBeGreaterThan(1);
  });
});

describe("probes", () => {
  test("bring an ejected server back after its time", async () => {
    await using world = await startReplicaWorld(2, {
      health: { intervalMs: 20, ejectAfter: 1, ejectMs: 1, path: "/health" },
    });
    world.servers[0]!.willAnswer(BREAKS);
    for (let i = 0; i < 1_000; i++) world.servers[1]!.willAnswer(THERE);
    const avoid = new Set([world.servers[1]!.baseUrl]);
    const route = { avoid, took: () => undefined };
    const probed = world.servers[0]!.nextRequest();
    // Its own answer to a probe, or to this.
    await world.run({ route });
    for (let i = 0; i < 1_000; i++) world.servers[0]!.willAnswer(THERE);
    await world.untilTold("back", 0);
    await probed;
    expect(world.engine.replicas!.views()[0]).toMatchObject({ isEjected: false });
    expect(world.servers[0]!.requests.map(({ path }) => path)).toContain("/v1/health");
  });

  test("eject a server that nothing asks, and that does not answer them", async () => {
    await using gone = await startMisbehavingServer();
    await gone[Symbol.asyncDispose]();
    await using world = await startReplicaWorld(1, {
      moreBaseUrls: [gone.baseUrl],
      health: { intervalMs: 20 },
    });
    await world.untilTold("ejected", 1);
    expect(world.told.filter(([, replica]) => replica === 1)).toEqual([
      ["ejected", 1, "The engine could not be reached (ECONNREFUSED)."],
    ]);
  });

  test("tell an observer that comes later of what is ejected", async () => {
    await using world = await startReplicaWorld(2, { health: { intervalMs: 3_600_000, ejectAfter: 1 } });
    world.servers[0]!.willAnswer(BREAKS);
    await world.run({ route: { avoid: new Set([world.servers[1]!.baseUrl]), took: () => undefined } });
    const told: unknown[] = [];
    const onEjected = (...news: unknown[]) => told.push(news);
    world.engine.replicas!.observe({ onEjected, onEnded: () => undefined, onBack: () => undefined });
    expect(told).toEqual([[0, "The engine answered 500."]]);
  });

  test("are not sent to the one server of a model, which is asked whatever it has done", async () => {
    await using world = await startReplicaWorld(1, { health: { intervalMs: 1, ejectAfter: 1 } });
    world.willAnswer([BREAKS], 3);
    for (let i = 0; i < 3; i++) await world.run();
    expect(world.servers[0]!.requests.map(({ path }) => path)).toEqual(Array(3).fill("/v1/chat/completions"));
    expect(world.engine.replicas).toBeUndefined();
  });
});

describe("what the servers of a model say that it can", () => {
  const list = (n_ctx: number, ...modalities: string[]): Answer => ({
    body: [
      JSON.stringify({
        data: [{ id: "m", architecture: { input_modalities: modalities }, meta: { n_ctx } }],
      }),
    ],
  });
  const signal = new AbortController().signal;

  test("is what all can that have answered, and as many tokens as any takes; those that have not are asked again", async () => {
    await using world = await startReplicaWorld(3, { dialect: "llama.cpp" });
    world.willAnswer([list(8_192, "text", "image", "audio"), { status: 503 }, list(4_096, "text", "image")]);
    expect(await world.engine.learn!(signal)).toBe(false);
    expect(world.engine).toMatchObject({ isLearning: false, contextTokens: 4_096 });
    const can = (...names: ("images" | "audio")[]) =>
      names.map((name) => world.engine.capabilities!.has(name));
    expect(can("images", "audio")).toEqual([true, false]);
    world.servers[1]!.willAnswer(list(2_048, "text"));
    expect(await world.engine.learn!(signal)).toBe(true);
    expect(can("images")).toEqual([false]);
    expect(world.engine.contextTokens).toBe(2_048);
    expect(world.asked()).toEqual([1, 2, 1]);
  });
});
