import { asSeq, type ModerationPolicy } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { decide, judge, moderatedBody, redacted } from "../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";

const SECRET = "SECRET";
const headers = authorization();

const streamOf = (url: string, id: string) => `${url}/v1/ai-sdk/chat/${id}/stream`;

/** A moderated generation that has said a secret, and a reader of it in another protocol. */
async function beginSecret(platform: Platform, moderation: ModerationPolicy) {
  const made = await createGeneration(platform, { body: moderatedBody(moderation) });
  await append(made.worker, started(), delta("a "), delta(SECRET));
  const { id } = made.generation;
  const reader = await openSseReader(streamOf(platform.node.url, id), { headers });
  return { ...made, id, reader };
}

const textIn = (frames: readonly { data: string }[]) =>
  frames
    .filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => JSON.parse(data) as { type: string; delta?: string })
    .flatMap(({ type, delta: text }) => (type === "text-delta" ? [text] : []))
    .join("");

describe("a reader of another protocol", () => {
  test.each(["gate", "retract"] as const)(
    "of a %s is sent what is cleared, then what is left of withdrawn text, and never that text",
    async (mode) => {
      await using platform = await openPlatform();
      const { id, ref, worker, reader } = await beginSecret(platform, { mode });
      await judge(platform, ref, 3, { cleared: asSeq(2) });
      await expect.poll(() => textIn(reader.frames)).toBe("a ");
      await decide(platform, ref, redacted(3));
      await append(worker, completed());
      await judge(platform, ref, 5, { decided: asSeq(4) });
      expect(await reader.ended).toBe("clean");
      expect(textIn(reader.frames)).toBe("a [redacted]");
      expect(reader.bytes.toString()).not.toContain(SECRET);
      const whole = (await call(streamOf(platform.node.url, id))).text;
      expect([whole.includes("[redacted]"), whole.includes(SECRET)]).toEqual([true, false]);
      await reader[Symbol.asyncDispose]();
    },
  );

  test("of observe is sent everything at once", async () => {
    await using platform = await openPlatform();
    const { reader, worker } = await beginSecret(platform, { mode: "observe" });
    await expect.poll(() => textIn(reader.frames)).toBe(`a ${SECRET}`);
    await append(worker, completed());
    expect(await reader.ended).toBe("clean");
    await reader[Symbol.asyncDispose]();
  });

  test("is sent the rest of what it has by another node when its own drains", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { id, worker, reader } = await beginSecret(platform, { mode: "observe" });
    await expect.poll(() => textIn(reader.frames)).toBe(`a ${SECRET}`);
    await platform.node.delivery.close();
    expect(await reader.ended).toBe("broken");
    const had = reader.frames.length;
    await using rest = await openSseReader(`${streamOf(other.url, id)}?startIndex=${had}`, { headers });
    await append(worker, delta(" b"), completed());
    expect(await rest.ended).toBe("clean");
    await using whole = await openSseReader(streamOf(other.url, id), { headers });
    expect(await whole.ended).toBe("clean");
    const dataOf = (frames: readonly { data: string }[]) => frames.map(({ data }) => data);
    expect([...dataOf(reader.frames), ...dataOf(rest.frames)]).toEqual(dataOf(whole.frames));
    await reader[Symbol.asyncDispose]();
  });
});
