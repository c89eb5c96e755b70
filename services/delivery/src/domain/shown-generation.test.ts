import { Hub } from "@reprise/log";
import { expect, test } from "vitest";
import { httpSseFraming } from "../streaming/http-sse-framing.ts";
import { judge, moderatedBody } from "../testing/moderation.ts";
import { append, createGeneration, delta, openPlatform, started } from "../testing/platform.ts";
import { cancelGeneration } from "./read-generation.ts";

test("a cancel is answered once moderation lets readers have the end", async () => {
  await using platform = await openPlatform();
  const { log, broker } = platform;
  const { ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
  await append(worker, started(), delta("a"));
  await judge(platform, ref, 2);
  const onError = (error: unknown) => expect.unreachable(String(error));
  const options = { connection: broker.main, ...log, framing: httpSseFraming, maxBytes: 1_000_000, onError };
  const hub = new Hub(options);
  using closing = new DisposableStack();
  closing.defer(() => hub.close());
  const cancelled = cancelGeneration({ log, hub, shownMs: 60_000 }, ref, "asked");
  await expect.poll(async () => (await log.reader.readLog(ref)).events).toHaveLength(4);
  await judge(platform, ref, 3);
  expect(await cancelled).toMatchObject({ status: "cancelled", text: "a", cursor: "1-3" });
});
