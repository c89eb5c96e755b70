import { headers as createHeaders, type Msg } from "@nats-io/transport-node";
import { asStreamSeq, OPS_STREAM } from "@reprise/protocol";
import { PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { inboxOf } from "./reply-inbox.ts";
import { directGet } from "../access/api-subject.ts";
import { openWorld } from "@reprise/stream/testing";
import { getBatchDirect } from "./direct-get.ts";
import { codeIn, hasIn, headerTextOf, isOnlyIn, lastIn } from "./header.ts";

const ALL = { afterStreamSeq: asStreamSeq(0), subject: ">", maxMessages: 100, maxBytes: 1_000_000 };

function messageWith(lines: readonly string[]): Msg {
  const headers = createHeaders();
  for (const line of lines)
    headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1));
  return { subject: "a", reply: "", data: new Uint8Array(0), headers } as unknown as Msg;
}

test("the text is what the client parses, of messages and of the broker's own answers, however they are cut into pieces", async () => {
  await using world = await openWorld();
  const { main, reads } = world.broker;
  const own = createHeaders();
  for (const [name, value] of [
    ["Reprise-Writer", "w"],
    ["reprise-writer", "no"],
    ["X", "NATS/1.0"],
    ["Nats-Sequence", "99"],
  ] as const)
    own.append(name, value);
  const payloads = ["", "a", "é", "x".repeat(100_000), "NATS/1.0\r\n\r\n"];
  // Answered when it is stored.
  for (const payload of payloads)
    await main.request("ops.acme.erased.-", payload, { headers: own, timeout: PATIENCE_MS });
  const { messages } = await getBatchDirect(reads, OPS_STREAM, ALL);
  expect(messages).toHaveLength(payloads.length);
  for (const msg of messages) {
    const text = headerTextOf(msg);
    expect(text).toContain("reprise-writer: no\r\n");
    const { subject, reply, data } = msg;
    const size = () => (msg as unknown as { size(): number }).size();
    // Without what the client has parsed.
    expect(headerTextOf({ subject, reply, data, size } as unknown as Msg)).toBe(text);
    for (const [name, values] of msg.headers ?? [])
      expect([name, lastIn(text, name)]).toEqual([name, values.at(-1)]);
    expect(codeIn(text)).toBe(0);
    expect(lastIn(text, "Nats-Stream")).toBe(OPS_STREAM);
  }
  const gone = JSON.stringify({ seq: 1_000_000, next_by_subj: ">" });
  const answer = await inboxOf(reads).ask(directGet(OPS_STREAM), gone, PATIENCE_MS);
  expect(typeof answer === "string" ? answer : codeIn(headerTextOf(answer))).toBe(404);
});

test("of headers that come more than once the last counts, and none of them is the only one", () => {
  const text = headerTextOf(messageWith(["A: 1", "B:2 ", "A: 3"]));
  expect([lastIn(text, "A"), lastIn(text, "B"), lastIn(text, "C")]).toEqual(["3", "2", undefined]);
  expect([hasIn(text, "A"), hasIn(text, "a"), hasIn(text, "C")]).toEqual([true, false, false]);
  expect([isOnlyIn(text, "A", "3"), isOnlyIn(text, "B", "2"), isOnlyIn(text, "B", "3")]).toEqual([
    false,
    true,
    false,
  ]);
});
