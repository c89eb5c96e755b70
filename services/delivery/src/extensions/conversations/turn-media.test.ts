import * as blobs from "@reprise/blobs";
import { type BlobId, blobSubject, effectiveRequest, LIMITS } from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PNG, upload } from "../../testing/uploads.ts";
import { authorization, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";
import {
  ACME,
  ask,
  assistant,
  openConversation,
  requestedOf,
  said,
  turn,
} from "../../testing/conversations.ts";

let platform: Platform;
let storage: blobs.BlobStorage;
let n = 0;

beforeAll(async () => {
  platform = await openPlatform();
  storage = blobs.createBlobStorage({ broker: platform.broker, publish: platform.log.publish });
});
afterAll(() => platform[Symbol.asyncDispose]());

async function stored(): Promise<BlobId> {
  const content = Buffer.concat([PNG, Buffer.from(`${n++}`)]);
  const { json } = await upload(platform.node.url, { content, type: "image/png" });
  return (json as { id: BlobId }).id;
}
const image = (blob: string) => ({ type: "image", blob }) as const;
const text = (words: string) => ({ type: "text", text: words }) as const;
const shown = (...content: object[]) => [{ role: "user", content }];
/** Changes only the recorded size of a blob, not its bytes. */
async function grow(blob: BlobId, bytes: number): Promise<void> {
  const { row, at } = await blobs.findBlob(storage, ACME, blob);
  await storage.rows.write(blobSubject(ACME, blob), { ...row, bytes }, at);
}
const full = { status: 400, json: { error: { code: "conversation_full", param: "conversation" } } };

describe("what earlier turns have shown", () => {
  test("is shown again: the request of a turn that sends text alone names it, as a request that had it all", async () => {
    const blob = await stored();
    const conversation = await openConversation(platform);
    await said(platform, { conversation, input: shown(text("What is it?"), image(blob)) }, "A dot.");
    const second = await turn(platform, { conversation, input: "What colour?" });
    const whole = [
      ...shown(text("What is it?"), image(blob)),
      assistant("A dot."),
      { role: "user", content: "What colour?" },
    ];
    const direct = await turn(platform, { input: whole });
    const [own, sent] = [await requestedOf(platform, second), await requestedOf(platform, direct)];
    expect(effectiveRequest(own).input).toEqual(whole);
    expect(own.media).toEqual(sent.media);
    expect(own.media).toHaveProperty(blob);
    expect(new Set(own.needs)).toEqual(new Set([...(sent.needs ?? []), "history"]));
  });

  test("has a note in its place once it is deleted, from then on, and what else was shown stays", async () => {
    const [gone, kept] = [await stored(), await stored()];
    const conversation = await openConversation(platform);
    await said(platform, { conversation, input: shown(image(gone), image(kept)) }, "Two.");
    const deleted = await fetch(`${platform.node.url}/v1/blobs/${gone}`, {
      method: "DELETE",
      headers: authorization(KEYS.acmeUploader),
    });
    expect(deleted.status).toBe(204);
    const note = text("[An image that was here is no longer available.]");
    for (const input of ["And now?", "And then?"]) {
      const next = await said(platform, { conversation, input }, "One.");
      const requested = await requestedOf(platform, next);
      const [first] = effectiveRequest(requested).input as { content: unknown }[];
      expect(first!.content).toEqual([note, image(kept)]);
      expect(Object.keys(requested.media!)).toEqual([kept]);
    }
  });

  test("of the new turn itself is refused where it is gone, by its own path", async () => {
    const conversation = await openConversation(platform);
    await said(platform, { conversation, input: shown(image(await stored())) }, "A dot.");
    const answer = await ask(platform, { conversation, input: shown(image(`blob_${"0".repeat(26)}`)) });
    expect(answer).toMatchObject({
      status: 404,
      json: { error: { code: "blob_not_found", param: "input.0.content.0.blob" } },
    });
  });
});

describe("media of a whole conversation are within one request's limits", () => {
  const HALF = LIMITS.mediaBytes / 2;
  /** Two turns with an image each, which together are nearly all that one request may name; and a third image. */
  async function opened(when_full: string) {
    const conversation = await openConversation(platform, { when_full });
    const shows = [await stored(), await stored(), await stored()] as const;
    for (const blob of shows) await grow(blob, HALF - 1_000_000);
    for (const blob of shows.slice(0, 2))
      await said(platform, { conversation, input: shown(image(blob)) }, "It is large.");
    return { conversation, shows };
  }

  test("a turn that would have more is refused, also one that names again what was named before: it is sent twice", async () => {
    const { conversation, shows } = await opened("error");
    for (const named of [shows[2], shows[0]])
      expect(await ask(platform, { conversation, input: shown(image(named)) })).toMatchObject(full);
    await said(platform, { conversation, input: "What was that?" }, "Two pictures.");
  });

  test("or the oldest turns are left out", async () => {
    const { conversation, shows } = await opened("truncate_oldest");
    const third = await turn(platform, { conversation, input: shown(image(shows[2])) });
    const { media, context } = await requestedOf(platform, third);
    expect(Object.keys(media!)).toEqual([shows[2]]);
    expect(context).toMatchObject({ dropped_turns: 2 });
  });
});
