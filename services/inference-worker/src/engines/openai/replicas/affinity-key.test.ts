import { describe, expect, test } from "vitest";
import type { EngineRequest } from "../../engine.ts";
import { affinityKeyOf } from "./affinity-key.ts";

const LONG = "x".repeat(1_024);
const keyOf = (request: Partial<EngineRequest>) => affinityKeyOf({ model: "m", input: "Hi", ...request });
const user = (content: string) => ({ role: "user" as const, content });

describe("the key of a request", () => {
  test("is its conversation, whatever is asked in it", () => {
    const conversation = "conv_4qk3v5hm2w7ztx6rjcnpdsa3eb" as NonNullable<EngineRequest["conversation"]>;
    expect(keyOf({ conversation })).toBe(conversation);
    expect(keyOf({ conversation, input: "Go on.", model: "other" })).toBe(conversation);
  });

  test("is that of the prompt's beginning else: a client that sends the whole conversation has one key for all turns", () => {
    const turns = [{ role: "system" as const, content: LONG }, user("Hi")];
    const later = [...turns, { role: "assistant" as const, content: "Hello" }, user("Go on.")];
    expect(keyOf({ input: later })).toBe(keyOf({ input: turns }));
    expect(keyOf({ input: `${LONG}a` })).toBe(keyOf({ input: `${LONG}b` }));
    expect(keyOf({ input: [user(LONG)] })).toBe(keyOf({ input: LONG }));
  });

  test.each<[string, Partial<EngineRequest>, Partial<EngineRequest>]>([
    ["models", { model: "a" }, { model: "b" }],
    ["first words", { input: "a" }, { input: "b" }],
    [
      "first words in parts",
      { input: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
      { input: "b" },
    ],
    ["roles", { input: [user("a")] }, { input: [{ role: "system", content: "a" }] }],
    ["cuts of a text", { input: [user("ab"), user("c")] }, { input: [user("a"), user("bc")] }],
    [
      "images",
      { input: [{ role: "user", content: [{ type: "image", url: "data:image/png;base64,AAAA" }] }] },
      { input: [{ role: "user", content: [{ type: "image", url: "data:image/png;base64,BBBB" }] }] },
    ],
  ])("differs between %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });
});
