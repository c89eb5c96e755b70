import { describe, expect, test } from "vitest";
import { createOpenaiEngine } from "../openai-engine.ts";
import { NO_PROGRESS } from "../../engine.ts";
import { content, DONE, finish } from "../../testing/chat-frames.ts";
import { collect } from "../../testing/collect.ts";
import { startMisbehavingServer } from "../../testing/misbehaving-server.ts";
import { RefusedFields } from "./refused-fields.ts";

const CHAT = {
  model: "m",
  messages: [
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "a", reasoning_content: "Hm." },
  ],
  tools: [{ type: "function", function: { name: "f", parameters: {}, strict: true } }],
  max_tokens: 9,
  temperature: 0.2,
  seed: 4,
  parallel_tool_calls: false,
  stream: true,
  stream_options: { include_usage: true },
};

/** Returns the body that is sent after a server has said this. */
function after(...said: string[]) {
  const refused = new RefusedFields();
  const json = JSON.stringify(CHAT);
  const names = said.flatMap((text) => refused.remember(refused.find(refused.apply(json), text)));
  return { names, body: JSON.parse(refused.apply(json)) as typeof CHAT };
}

const without = (name: string) =>
  Object.fromEntries(Object.entries(CHAT).filter(([field]) => field !== name));

describe("a refusal that names a field", () => {
  test.each([
    ["stream_options", '{"error":{"message":"Unrecognized request argument supplied: stream_options"}}'],
    [
      "stream_options",
      '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs"}]}',
    ],
    ["stream_options", `{"error":{"message":"Extra inputs are not permitted, field: 'stream_options'"}}`],
    [
      "stream_options",
      `{"detail":"Extra parameters ['stream_options'] are not allowed when extra-parameters is not set."}`,
    ],
    ["parallel_tool_calls", '{"error":{"message":"Unknown field: parallel_tool_calls"}}'],
    [
      "temperature",
      `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model."}}`,
    ],
    ["seed", '{"error":{"message":"Extra inputs are not permitted","param":"seed"}}'],
  ])("has later requests without %s: %s", (name, said) => {
    const { names, body } = after(said);
    expect(names).toEqual([name]);
    expect(body).toEqual(without(name));
  });

  test("of messages has them without it", () => {
    const { names, body } = after(`'messages.2' : property 'reasoning_content' is unsupported`);
    expect(names).toEqual(["reasoning_content"]);
    expect(body.messages[2]).toEqual({ role: "assistant", content: "a" });
  });

  test.each([
    `{"error":{"message":"'developer' is not one of ['system', 'assistant', 'user'] - 'messages.0.role'"}}`,
    '{"error":"unknown variant `developer`, expected one of system, user: messages[0].role"}',
  ])("and is the role developer has system in its place: %s", (said) => {
    const { names, body } = after(said);
    expect(names).toEqual(["role developer"]);
    expect(body.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("and another one for the limit has the limit under that name", () => {
    const { names, body } = after(
      `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`,
    );
    expect(names).toEqual(["max_tokens"]);
    expect(body).toEqual({ ...without("max_tokens"), max_completion_tokens: 9 });
  });

  test.each([
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.tool_calls.0' : property 'extra_content' is unsupported)]",
    '{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","tool_calls",0,"extra_content"],"msg":"Extra inputs are not permitted"}]}',
  ])("of calls has them without it: %s", (said) => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const chat = (...calls: object[]) =>
      JSON.stringify({
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", tool_calls: calls },
        ],
      });
    const refused = new RefusedFields();
    const json = chat({ ...call, extra_content: { google: { thought_signature: "x" } } }, call);
    expect(refused.remember(refused.find(json, said))).toEqual(["extra_content"]);
    expect(JSON.parse(refused.apply(json))).toEqual(JSON.parse(chat(call, call)));
    expect(new RefusedFields().find(chat(call), said)).toEqual([]);
  });

  test("and strict has tools without it", () => {
    const { body } = after(`Unknown parameter: 'tools[0].function.strict'.`);
    expect(body.tools).toEqual([{ type: "function", function: { name: "f", parameters: {} } }]);
  });

  test.each([
    "temperature must be at most 2",
    `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","param":"temperature","code":"unsupported_value"}}`,
    "temperature: 0.2 is not supported, it must be between 0 and 0.1",
    `{"detail":[{"type":"value_error","msg":"unknown thing","input":{"stream_options":{},"temperature":0.2,"seed":4}}]}`,
    `{"error":{"message":"Content blocked: 'what is stream_options?' is not allowed"}}`,
    "'messages' is not supported",
    "Unknown model: the seed of the temperature",
    "'tools' are not supported by this model",
    "",
    "<html>",
  ])("changes nothing where it is needed, wrong, or not named: %j", (said) => {
    const { names, body } = after(said);
    expect(names).toEqual([]);
    expect(body).toEqual(CHAT);
  });
});

async function startServer() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startMisbehavingServer());
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "m" });
  stack.defer(() => engine.close());
  const told: string[] = [];
  const onWithoutField = (name: string) => void told.push(name);
  const run = () => {
    const { signal } = new AbortController();
    return collect(
      engine.generate({ model: "public", input: "Hi" }, { ...NO_PROGRESS, signal, onWithoutField }),
    );
  };
  const owned = stack.move();
  return {
    server,
    told,
    run,
    hadField: () => server.requests.map(({ body }) => "stream_options" in body),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const ANSWER = { body: [content("a"), finish(), DONE] };
const REFUSAL = { status: 400, body: ['{"error":"unknown field stream_options"}'] };

test("a server that refuses a field is asked again at once, then always without it, and it is told once", async () => {
  await using world = await startServer();
  for (const answer of [{ ...REFUSAL, status: 422 }, ANSWER, ANSWER]) world.server.willAnswer(answer);
  expect([(await world.run()).text, (await world.run()).text]).toEqual(["a", "a"]);
  expect(world.hadField()).toEqual([true, false, false]);
  expect(world.told).toEqual(["stream_options"]);
  world.server.willAnswer(REFUSAL);
  expect((await world.run()).error).toMatchObject({ code: "engine_rejected" });
});

test("a field without which a server refuses the request too is sent again", async () => {
  await using world = await startServer();
  for (const answer of [REFUSAL, { status: 400, body: ["blocked"] }, ANSWER]) world.server.willAnswer(answer);
  expect((await world.run()).error).toMatchObject({ code: "engine_rejected" });
  expect((await world.run()).text).toBe("a");
  expect(world.hadField()).toEqual([true, false, true]);
});

test("requests that a server refuses at once for one field are all sent again", async () => {
  await using world = await startServer();
  const both = Promise.withResolvers<void>();
  const refusal = { ...REFUSAL, body: [both.promise, ...REFUSAL.body] };
  for (const answer of [refusal, refusal, ANSWER, ANSWER]) world.server.willAnswer(answer);
  const runs = [world.run(), world.run()];
  await world.server.nextRequest();
  await world.server.nextRequest();
  both.resolve();
  expect((await Promise.all(runs)).map(({ text }) => text)).toEqual(["a", "a"]);
});
