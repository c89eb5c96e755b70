import { expect, test } from "vitest";
import { append, call, createGeneration, delta, openPlatform, started } from "../testing/platform.ts";

const cancel = (url: string) => call(`${url}/cancel`, { method: "POST" });

test("a stream that is cancelled before its engine has counted the input has an estimate of it, and says so", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform, {
    body: { model: "sim", input: "x".repeat(400) },
  });
  await append(worker, started(), delta("Hel"));
  const { json } = await cancel(`${platform.node.url}${path}`);
  const usage = { input_tokens: 100, estimated_input_tokens: 100, output_tokens: 1 };
  expect(json).toMatchObject({ status: "cancelled", usage });
  const last = await platform.log.reader.readLast(ref);
  expect(JSON.parse(Buffer.from(last!.payload).toString())).toMatchObject({
    type: "generation.cancelled",
    usage,
  });
});

test.each([
  ["no worker has begun", []],
  ["a worker has begun and no engine has answered", [started()]],
])("one that %s has used nothing", async (_, events) => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform, {
    body: { model: "sim", input: "x".repeat(400) },
  });
  await append(worker, ...events);
  const { json } = await cancel(`${platform.node.url}${path}`);
  const usage = (json as { usage: object }).usage;
  expect(usage).toEqual({ input_tokens: null, output_tokens: 0 });
});
