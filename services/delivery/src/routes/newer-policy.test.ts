import { hash } from "node:crypto";
import {
  deriveGenerationId,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  logSubject,
  parseTenantId,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { moderatedPolicy, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { call, delta, openPlatform, type Platform, REQUEST, started, toolCall } from "../testing/platform.ts";

const SECRET = "SECRET";
const KEY = "k";
const sha256 = (text: string) => hash("sha256", text, "buffer");

/** A log as a node of a later version has begun it, in a mode that this version does not know. */
async function writeNewerLog({ log }: Platform): Promise<GenerationRef> {
  const tenant = parseTenantId("acme");
  const ref = { tenant, generation: deriveGenerationId(tenant, KEY, 2, sha256) };
  const policy = moderatedPolicy({ mode: "quarantine" as "gate" });
  const drafts: EventDraft[] = [requested(ref, REQUEST, policy), started(), delta(SECRET), toolCall("a")];
  let expectedLast = 0;
  for (const [seq, draft] of drafts.entries()) {
    const outcome = await log.publish(logSubject(ref), encodeEvent(asSeq(seq), draft), {
      expectedLast: asStreamSeq(expectedLast),
    });
    if (outcome.kind === "stored") expectedLast = outcome.streamSeq;
  }
  return ref;
}

test("a node shows nothing of a generation whose policy a later version wrote, and says that another node can", async () => {
  await using platform = await openPlatform();
  const ref = await writeNewerLog(platform);
  const create = `${platform.node.url}/v1/generations`;
  const url = `${create}/${ref.generation}`;
  const [json, sse] = [{ accept: "application/json" }, { accept: "text/event-stream" }];
  const again = { "idempotency-key": KEY };
  const answers = [
    await call(url),
    await call(`${url}/events`, { headers: sse }),
    await call(`${url}/events`, { headers: { ...sse, "last-event-id": "1-1" } }),
    await call(`${url}/events?wait=10`, { headers: json }),
    await call(`${url}/tool-results`, { body: { call_id: "a", output: 1 } }),
    await call(create, { body: REQUEST, headers: again }),
    await call(create, { body: REQUEST, headers: { ...again, ...sse } }),
    await call(`${url}/cancel`, { method: "POST" }),
    await call(url),
  ];
  const error = { code: "policy_unsupported", message: expect.any(String), retryable: true };
  expect(answers.map(({ status, json: body }) => [status, body])).toEqual(
    answers.map(() => [503, { error }]),
  );
  expect(answers.map(({ headers }) => headers.get("retry-after"))).toEqual(answers.map(() => "1"));
  const { events } = await platform.log.reader.readLog(ref);
  expect(events.slice(4).map((payload) => JSON.parse(Buffer.from(payload).toString()))).toMatchObject([
    { seq: 4, type: "generation.cancelled" },
  ]);
});
