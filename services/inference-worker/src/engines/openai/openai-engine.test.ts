import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PREFIX, type Prefix } from "../engine.ts";
import { content, DONE, finish, ROLE, usage } from "../testing/chat-frames.ts";
import { collect } from "../testing/collect.ts";
import { type MisbehavingServer, startMisbehavingServer } from "../testing/misbehaving-server.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "./openai-engine.ts";

const REQUEST: EngineRequest = { model: "public", input: "Hi" };
const HELLO = [ROLE, content("Hel"), content("lo"), finish(), usage(12, 2), DONE];

async function setUp(options: Partial<OpenaiEngineOptions> = {}) {
  const server = await startMisbehavingServer();
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "org/m", ...options });
  const signal = new AbortController().signal;
  return {
    server,
    engine,
    run: (request = REQUEST, prefix: Prefix = NO_PREFIX) =>
      collect(engine.generate(request, { prefix, signal })),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A stream that has sent one word and then nothing more. */
function hangAfterOneWord(server: MisbehavingServer): void {
  server.willAnswer({ body: [ROLE, content("Hel")], end: "never" });
}

describe("the OpenAI engine", () => {
  test("sends the request as a streamed chat completion with the key, and gives what comes", async () => {
    await using world = await setUp({ apiKey: "sk-123" });
    world.server.willAnswer({ body: HELLO });
    const { text, events } = await world.run();
    expect(text).toBe("Hello");
    expect(events.at(-1)).toEqual({
      type: "finish",
      reason: "stop",
      usage: { input_tokens: 12, output_tokens: 2 },
    });
    expect(world.server.requests).toMatchObject([
      {
        path: "/v1/chat/completions",
        headers: {
          authorization: "Bearer sk-123",
          "content-type": "application/json",
          accept: "text/event-stream",
        },
        body: { model: "org/m", messages: [{ role: "user", content: "Hi" }], stream: true },
      },
    ]);
  });

  test("sends no authorization when there is no key", async () => {
    await using world = await setUp();
    world.server.willAnswer({ body: HELLO });
    await world.run();
    expect(world.server.requests[0]!.headers).not.toHaveProperty("authorization");
  });

  test("takes a base URL with a slash at its end for the same", async () => {
    await using server = await startMisbehavingServer();
    const engine = createOpenaiEngine({ baseUrl: `${server.baseUrl}/`, upstreamModel: "m" });
    server.willAnswer({ body: HELLO });
    await collect(engine.generate(REQUEST, { prefix: NO_PREFIX, signal: new AbortController().signal }));
    expect(server.requests[0]!.path).toBe("/v1/chat/completions");
    await engine.close();
  });

  test("gives each word as it comes, not when the next one does", async () => {
    await using world = await setUp();
    const gate = Promise.withResolvers<void>();
    world.server.willAnswer({ body: [ROLE, content("Hel"), gate.promise, ...HELLO.slice(2)] });
    let text = "";
    for await (const event of world.engine.generate(REQUEST, {
      prefix: NO_PREFIX,
      signal: new AbortController().signal,
    })) {
      if (event.type === "text") text += event.text;
      gate.resolve();
    }
    expect(text).toBe("Hello");
  });

  test("is right when the bytes come one at a time", async () => {
    await using world = await setUp();
    const bytes = Buffer.from([ROLE, content("é日本🙂"), finish(), DONE].join("").replaceAll("\n", "\r\n"));
    world.server.willAnswer({ body: Array.from(bytes, (byte) => Uint8Array.of(byte)) });
    expect((await world.run()).text).toBe("é日本🙂");
  });

  test("sends one request after the other on the same connection", async () => {
    await using world = await setUp();
    for (let i = 0; i < 5; i++) {
      world.server.willAnswer({ body: HELLO });
      await world.run();
      // A connection is not used again in the turn of the event loop in which its answer ended.
      await nextTurn();
    }
    expect(world.server.requests).toHaveLength(5);
    expect(world.server.connections).toBe(1);
  });

  test("runs as many requests at once as it is asked to, and then keeps their connections", async () => {
    await using world = await setUp();
    for (let i = 0; i < 20; i++) world.server.willAnswer({ body: HELLO });
    const runs = await Promise.all(Array.from({ length: 20 }, () => world.run()));
    expect(runs.map(({ text }) => text)).toEqual(Array(20).fill("Hello"));
    expect(world.server.connections).toBeLessThanOrEqual(20);
  });

  test("does not ask for what the prefix has used up already", async () => {
    await using world = await setUp({ continuation: "continue_final_message" });
    const { events } = await world.run({ ...REQUEST, max_output_tokens: 3 }, { text: "a b c", tokens: 3 });
    expect(events).toEqual([
      { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } },
    ]);
    expect(world.server.requests).toEqual([]);
  });

  test("continues behind a prefix", async () => {
    await using world = await setUp({ continuation: "continue_final_message" });
    world.server.willAnswer({ body: [content("lo"), finish(), usage(15, 1), DONE] });
    const { text, events } = await world.run(REQUEST, { text: "Hel", tokens: 3 });
    expect(text).toBe("lo");
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 12, output_tokens: 1 } });
    expect(world.server.requests[0]!.body).toMatchObject({ continue_final_message: true });
  });

  test("refuses options that it keeps for itself, without asking the upstream", async () => {
    await using world = await setUp();
    const options = { stream: false };
    const refusal = { code: "invalid_request", param: "options.stream" };
    expect(() => world.engine.assertOptions(options)).toThrow(expect.objectContaining(refusal) as Error);
    expect((await world.run({ ...REQUEST, options })).error).toMatchObject(refusal);
    expect(world.server.requests).toEqual([]);
  });
});

describe("the OpenAI engine, when its signal aborts,", () => {
  const reason = new Error("enough");

  function start(world: Awaited<ReturnType<typeof setUp>>) {
    const abort = new AbortController();
    const events = world.engine.generate(REQUEST, { prefix: NO_PREFIX, signal: abort.signal });
    return { abort, iterator: events[Symbol.asyncIterator](), running: () => collect(events) };
  }

  test("before it begins asks nobody", async () => {
    await using world = await setUp();
    const { abort, running } = start(world);
    abort.abort(reason);
    expect((await running()).error).toBe(reason);
    expect(world.server.connections).toBe(0);
  });

  test("before the answer begins throws the reason and closes the connection", async () => {
    await using world = await setUp();
    world.server.willAnswer({ end: "silent" });
    const { abort, running } = start(world);
    const [received, { error }] = await Promise.all([
      world.server.nextRequest().then((request) => {
        abort.abort(reason);
        return request;
      }),
      running(),
    ]);
    expect(error).toBe(reason);
    await received.closed;
  });

  test("in mid-stream throws the reason and closes the connection", async () => {
    await using world = await setUp();
    hangAfterOneWord(world.server);
    const { abort, iterator } = start(world);
    expect(await iterator.next()).toMatchObject({ value: { text: "Hel" } });
    const next = iterator.next();
    abort.abort(reason);
    await expect(next).rejects.toBe(reason);
    await world.server.requests[0]!.closed;
  });

  test("while nobody asks for the next event closes the connection all the same, and says no word more", async () => {
    await using world = await setUp();
    world.server.willAnswer({ body: [[ROLE, content("Hel"), content("lo")].join("")], end: "never" });
    const { abort, iterator } = start(world);
    await iterator.next();
    abort.abort(reason);
    await world.server.requests[0]!.closed;
    await expect(iterator.next()).rejects.toBe(reason);
  });

  test("again and again leaves no connection behind", async () => {
    await using world = await setUp();
    for (let i = 0; i < 10; i++) {
      hangAfterOneWord(world.server);
      const { abort, iterator } = start(world);
      await iterator.next();
      abort.abort(reason);
      await expect(iterator.next()).rejects.toBe(reason);
      await world.server.requests[i]!.closed;
    }
    expect(world.server.openConnections).toBe(0);
  });
});

describe("the OpenAI engine, when nobody wants more,", () => {
  test("closes the connection", async () => {
    await using world = await setUp();
    hangAfterOneWord(world.server);
    for await (const event of world.engine.generate(REQUEST, {
      prefix: NO_PREFIX,
      signal: new AbortController().signal,
    })) {
      expect(event).toEqual({ type: "text", text: "Hel" });
      break;
    }
    await world.server.requests[0]!.closed;
  });

  test("and is closed, fails what still runs", async () => {
    await using world = await setUp();
    hangAfterOneWord(world.server);
    const events = world.engine.generate(REQUEST, {
      prefix: NO_PREFIX,
      signal: new AbortController().signal,
    });
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    const next = iterator.next();
    await world.engine.close();
    await expect(next).rejects.toMatchObject({ code: "engine_failed" });
    await world.server.requests[0]!.closed;
  });
});
