import { createClient } from "@reprise/client";
import type { ModerationPolicy } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { MASK, PATIENT, saying, TENANT } from "./testing/moderated.ts";

/* A gate holds text back, and something waits for its readers. Neither may wait for the other for ever. */

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const JWT = [
  base64url({ alg: "HS256", typ: "JWT" }),
  base64url({ sub: "1234567890", name: "John Doe", admin: true, scope: "everything there is" }),
  "c2lnbmF0dXJlIHRoYXQgaXMgbG9uZyBlbm91Z2ggdG8gYmUgb25l".repeat(4),
].join(".");

test("a generation that waits for its readers, and one that waits for a tool's answer, end under a gate", async () => {
  await using cluster = await startCluster();
  const [{ url }] = await Promise.all([
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startWorker(),
  ]);
  const { generations } = createClient({ url, apiKey: cluster.keys[TENANT]! });
  const gate: ModerationPolicy = { mode: "gate", rules: ["cards", "secrets", "personal-data"], ...PATIENT };

  const chunks = `The token is ${JWT}, and that is all.`.match(/.{1,4}/g)!;
  const { policy, ...request } = saying(chunks, gate);
  const paced = { ...request, policy: { ...policy, pace: { max_lead_tokens: 20 } } };

  const words = ["Your ", "total ", "is ", "12"];
  const asking = {
    model: "sim",
    input: "What is my total?",
    tools: [{ name: "look_up" }],
    options: { chunks: words, tool_call_after_tokens: words.length },
    policy: { moderation: gate },
  };
  const [waited, answered] = await Promise.all([
    generations.run(paced).done(),
    generations.run(asking, { tools: { look_up: async () => "found" } }).done(),
  ]);
  expect([waited.status, waited.text]).toEqual(["completed", `The token is ${MASK}, and that is all.`]);
  expect(answered.status).toBe("completed");
});
