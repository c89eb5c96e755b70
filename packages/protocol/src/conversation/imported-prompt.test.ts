import fc from "fast-check";
import { expect, it } from "vitest";
import type { Message } from "../request/fields/input.ts";
import { fitPrompt, mediaRoomOf } from "./fit-prompt.ts";
import { toImportedPrompt } from "./imported-prompt.ts";

const said = fc
  .constantFrom("system", "developer", "user", "assistant")
  .map((role): Message => ({ role, content: role }));

it("has all items in their order, the instructions by themselves and a part for each message of a user", () => {
  fc.assert(
    fc.property(fc.array(said), (items) => {
      const prompt = toImportedPrompt(items);
      expect(prompt.flatMap((segment) => segment.items)).toEqual(items);
      for (const {
        imported,
        items: [first],
      } of prompt.filter((segment) => segment.imported !== undefined))
        expect(items[imported! - 1]).toBe(first);
      for (const segment of prompt) {
        const later = segment.items.slice(1);
        expect(segment.imported === undefined || later.every(({ role }) => role !== "user")).toBe(true);
      }
    }),
  );
  expect(toImportedPrompt(undefined)).toEqual([]);
});

it("begins with instructions that its client does not give, and counts its items without them", () => {
  const prompt = [{ role: "system", content: "Be brief." }] satisfies Message[];
  const items: Message[] = [
    { role: "developer", content: "b" },
    { role: "user", content: "c" },
  ];
  expect(toImportedPrompt(items, prompt)).toEqual([
    { items: [...prompt, items[0]] },
    { imported: 2, items: [items[1]] },
  ]);
  expect(toImportedPrompt([], prompt)).toEqual([{ items: prompt }]);
});

it("loses its oldest parts where it does not fit, and never its instructions", () => {
  const items: Message[] = [
    { role: "system", content: "Be brief." },
    ...Array.from({ length: 8 }, (): Message => ({ role: "user", content: "x".repeat(100) })),
  ];
  const { prompt, dropped } = fitPrompt(
    toImportedPrompt(items),
    {
      bytes: 900,
      tokens: undefined,
      counted: undefined,
      media: mediaRoomOf({ request: { model: "m", input: "x" } }),
    },
    "truncate_oldest",
  );
  expect(dropped).toBe(6);
  expect(prompt.map(({ imported }) => imported)).toEqual([undefined, 8, 9]);
});
