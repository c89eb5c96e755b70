import { buffer } from "node:stream/consumers";
import { DIALECTS, RepriseError } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { mediaOf } from "../../../testing/stored-blob.ts";
import { type EngineRequest, type MediaSource, NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";
import { findPlaces } from "./placed-media.ts";

const anyPiece = fc.uint8Array({ maxLength: 40 });
const anyPart = fc.record({
  kind: fc.constantFrom(["image", "image/png"], ["audio", "audio/mpeg"], ["file", "application/pdf"]),
  pieces: fc.array(anyPiece, { minLength: 1, maxLength: 6 }),
  text: fc.string({ unit: "grapheme", maxLength: 10 }),
});

test("a streamed body is what it would be with its content in the request, however the content comes in pieces", async () => {
  const property = fc.asyncProperty(
    fc.array(anyPart, { minLength: 1, maxLength: 4 }),
    fc.constantFrom(...DIALECTS),
    async (parts, dialect) => {
      const contents = parts.map(({ pieces }) => Buffer.concat(pieces));
      const named = parts.map(({ kind: [, type] }, i) => mediaOf(contents[i]!, type, i));
      const referenceTo = (i: number) => (i % 2 === 0 ? named[i]!.blob : `https://files.example.com/${i}`);
      const media: MediaSource = {
        async find(reference) {
          const i = named.findIndex((_, n) => referenceTo(n) === reference);
          return {
            ...named[i]!,
            link: () => Promise.reject(new Error("no link is asked for")),
            async *read() {
              // As a store may, one memory for all pieces.
              const memory = new Uint8Array(40);
              for (const piece of parts[i]!.pieces) {
                memory.set(piece);
                yield memory.subarray(0, piece.length);
              }
            },
          };
        },
      };
      const request = (place: (i: number) => object): EngineRequest => ({
        model: "m",
        input: parts.map(({ kind: [type], text }, i) => ({
          role: "user",
          content: [{ type: "text", text }, { type, ...place(i) } as never],
        })),
      });
      const model = {
        upstreamModel: "org/m",
        continuation: "none",
        maxTokensField: "max_tokens",
        dialect,
      } as const;
      const byId = request((i) => (i % 2 === 0 ? { blob: named[i]!.blob } : { url: referenceTo(i) }));
      const inlined = request((i) => ({
        url: `data:${named[i]!.type};base64,${contents[i]!.toString("base64")}`,
      }));
      // No data URL is empty; a blob may be.
      fc.pre(contents.every(({ length }) => length > 0));
      const whole = JSON.stringify(toChatRequest(inlined, NO_PROGRESS, model));
      const places = await findPlaces(byId, media);
      const body = places.toBody(JSON.stringify(toChatRequest(byId, NO_PROGRESS, model, places.place)));
      expect(body.bytes).toBe(Buffer.byteLength(whole));
      expect((await buffer(body.open())).toString()).toBe(whole);
      expect((await buffer(body.open())).toString()).toBe(whole);
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

test("a part whose content is not named by the request's log is not sent", async () => {
  const { blob } = mediaOf(Buffer.from("x"), "image/png");
  const request: EngineRequest = {
    model: "m",
    input: [{ role: "user", content: [{ type: "image", blob }] }],
  };
  const { place } = await findPlaces(request, undefined);
  expect(() => place({ type: "image", blob })).toThrow(
    expect.objectContaining({ code: "capability_unsupported" }),
  );
  const gone: MediaSource = {
    find: () => Promise.reject(new RepriseError("blob_not_found", "There is no blob with this id.")),
  };
  await expect(findPlaces(request, gone)).rejects.toMatchObject({ code: "blob_not_found" });
});
