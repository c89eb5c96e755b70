import { describe, expect, it } from "vitest";
import { createGenerationId } from "../id.ts";
import { fitPrompt } from "./fit-prompt.ts";
import type { Prompt } from "../event/shapes/prompt.ts";

const turnOf = (n: number): Prompt[number] => ({
  generation: createGenerationId(new Uint8Array(17).fill(n), 1),
  items: [{ role: "user", content: "x".repeat(300) }],
});
const PINNED: Prompt[number] = { items: [{ role: "system", content: "Be brief." }] };
const PROMPT = [PINNED, ...[1, 2, 3, 4, 5, 6, 7, 8].map(turnOf)];
const bytesOf = (prompt: Prompt) => prompt.reduce((sum, segment) => sum + JSON.stringify(segment).length, 0);
const BYTES = bytesOf(PROMPT);
const INFINITY = Number.POSITIVE_INFINITY;
const media = {
  references: INFINITY,
  bytes: INFINITY,
  sizes: new Map<string, number>(),
  own: new Set<string>(),
};
const unbounded = { bytes: INFINITY, tokens: undefined, counted: undefined, media };

describe("a prompt", () => {
  it("stays as it is where it fits", () => {
    for (const room of [
      { ...unbounded, bytes: BYTES },
      { ...unbounded, tokens: Math.ceil(BYTES / 4) },
    ])
      expect(fitPrompt(PROMPT, room, "error")).toEqual({
        prompt: PROMPT,
        left: [],
        dropped: 0,
        bytes: BYTES,
      });
  });

  it("is refused where it does not, and the error says what it takes and what there is", () => {
    expect(() => fitPrompt(PROMPT, { ...unbounded, bytes: BYTES - 1 }, "error")).toThrow(
      expect.objectContaining({
        code: "conversation_full",
        message: expect.stringContaining(`${BYTES} bytes`),
      }),
    );
    expect(() => fitPrompt(PROMPT, { ...unbounded, tokens: 10 }, "error")).toThrow(
      expect.objectContaining({ message: expect.stringContaining("room for 10 tokens") }),
    );
  });

  it("goes by the engine's own count of it, not by its bytes", () => {
    const room = { ...unbounded, tokens: 1_000 };
    expect(fitPrompt(PROMPT, { ...room, counted: 1_000 }, "error").dropped).toBe(0);
    expect(() => fitPrompt(PROMPT, { ...room, counted: 1_001 }, "error")).toThrow("1001 tokens");
  });

  it("loses its oldest turns until half of the room is free, and never its instructions", () => {
    const fitted = fitPrompt(PROMPT, { ...unbounded, bytes: BYTES - 1 }, "truncate_oldest");
    const { prompt, dropped } = fitted;
    expect(prompt[0]).toBe(PINNED);
    expect(prompt.slice(1)).toEqual(PROMPT.slice(1 + dropped));
    expect(fitted.bytes).toBe(bytesOf(prompt));
    expect(fitted.bytes).toBeLessThanOrEqual((BYTES - 1) / 2);
    // One turn less would not have been enough.
    expect(bytesOf([PINNED, ...PROMPT.slice(dropped)])).toBeGreaterThan((BYTES - 1) / 2);
  });

  it("keeps a summary, as instructions, and says which turns it has lost", () => {
    const summary = { ...turnOf(9), summary: true as const };
    const prompt = [PINNED, summary, ...PROMPT.slice(1)];
    const fitted = fitPrompt(prompt, { ...unbounded, bytes: BYTES }, "truncate_oldest");
    expect(fitted.prompt.slice(0, 2)).toEqual([PINNED, summary]);
    expect(fitted.left).toEqual(PROMPT.slice(1, 1 + fitted.dropped));
    expect(fitted.prompt.slice(2)).toEqual(PROMPT.slice(1 + fitted.dropped));
  });

  it("is refused where its instructions alone do not fit", () => {
    expect(() => fitPrompt(PROMPT, { ...unbounded, bytes: 10 }, "truncate_oldest")).toThrow("conversation");
  });
});

describe("the media of a prompt", () => {
  const idOf = (n: number) => `blob_${`${n}`.repeat(26)}`;
  /** A turn that names one blob of its own and one that all name. */
  const seen = (n: number): Prompt[number] => ({
    ...turnOf(n),
    items: [{ role: "user", content: [0, n].map((i) => ({ type: "image", blob: idOf(i) })) }],
  });
  const prompt = [1, 2, 3, 4].map(seen);
  const sizes = new Map([0, 1, 2, 3, 4].map((n) => [idOf(n), 100]));
  const withMedia = (room: { references?: number; bytes?: number; own?: ReadonlySet<string> }) => ({
    ...unbounded,
    media: { ...media, ...room, sizes },
  });

  it("count with what is named: blobs each once, and bytes for each part, as the engine is sent them", () => {
    for (const room of [{ references: 5 }, { bytes: 800 }])
      expect(fitPrompt(prompt, withMedia(room), "error").dropped).toBe(0);
    for (const room of [{ references: 4 }, { bytes: 799 }])
      expect(() => fitPrompt(prompt, withMedia(room), "error")).toThrow(
        expect.objectContaining({
          code: "conversation_full",
          param: "conversation",
          message: expect.stringContaining("5 blobs of 800 bytes"),
        }),
      );
    // What the new turn names as well is no further blob, and is sent once more.
    const own = new Set([idOf(0)]);
    expect(fitPrompt(prompt, withMedia({ references: 4, own }), "error").dropped).toBe(0);
    expect(() => fitPrompt(prompt, withMedia({ bytes: 799, own }), "error")).toThrow("800 bytes");
  });

  it("have their oldest turns left out until half of the room is free", () => {
    expect(fitPrompt(prompt, withMedia({ bytes: 799 }), "truncate_oldest")).toMatchObject({
      dropped: 3,
      prompt: [prompt[3]],
    });
    expect(fitPrompt([PINNED, seen(1)], withMedia({ references: 0 }), "truncate_oldest").prompt).toEqual([
      PINNED,
    ]);
  });
});
