import { expect, test } from "vitest";
import { NO_PREFIX, type Seam } from "../../engines/engine.ts";
import { YieldPoint } from "./yield-point.ts";

/** Offers are noted; `want` is another job that takes the slot. */
function open(canContinue: (seam: Seam) => boolean, seam: Partial<Seam> = {}) {
  let offer: (() => void) | undefined;
  let yields = 0;
  const point = new YieldPoint({
    job: { setYield: (onYield) => (offer = onYield) },
    seam: { prefix: NO_PREFIX, reasoned: false, counted: false, ...seam },
    canContinue,
    onYield: () => yields++,
  });
  const say = (...texts: string[]) => texts.forEach((text) => point.said({ type: "text", text }));
  return { point, say, isOffered: () => offer !== undefined, want: () => offer?.(), yields: () => yields };
}

test("the slot is offered once the turn has said text, however much came before", () => {
  const { say, isOffered, want, yields, point } = open(() => true, {
    prefix: { text: "Before.", tokens: 3 },
  });
  point.said({ type: "reasoning", text: "Hm." });
  expect(isOffered()).toBe(false);
  say(" Now.");
  expect(isOffered()).toBe(true);
  want();
  expect(yields()).toBe(1);
});

test("an engine that continues after no text offers nothing, nor one that has reasoned where it would not", () => {
  const never = open(() => false);
  never.say("a", "b");
  expect(never.isOffered()).toBe(false);
  const unlessReasoned = open(({ reasoned }) => !reasoned);
  unlessReasoned.say("a");
  expect(unlessReasoned.isOffered()).toBe(true);
  unlessReasoned.point.said({ type: "reasoning", text: "Hm." });
  expect(unlessReasoned.isOffered()).toBe(false);
  const unlessShown = open(({ reasoned }) => !reasoned);
  unlessShown.say("a");
  unlessShown.point.said({
    type: "media",
    kind: "image",
    mediaType: "image/png",
    bytes: new Uint8Array(1),
    isLast: true,
  });
  unlessShown.say("b");
  expect(unlessShown.isOffered()).toBe(false);
});

test("an engine that needs its own count of the prefix offers the slot once it has given one", () => {
  const { point, isOffered } = open(({ counted }) => counted);
  point.said({ type: "text", text: "a" });
  expect(isOffered()).toBe(false);
  point.said({ type: "text", text: "b", inputTokens: 7 });
  expect(isOffered()).toBe(true);
});

test("the engine stops at the next token after which it can continue, with all that was said", () => {
  const asked: Seam[] = [];
  const exact = (seam: Seam) => {
    asked.push(seam);
    return seam.prefix.text === seam.prefix.text.trimEnd();
  };
  const { say, want, yields } = open(exact, { prefix: { text: "One", tokens: 1 } });
  say(" ");
  want();
  expect(yields()).toBe(0);
  say("two");
  expect(yields()).toBe(1);
  expect(asked.at(-1)?.prefix).toEqual({ text: "One two", tokens: 3 });
});

test("text after which the engine can never continue takes the offer back, and blanks at its end do not", () => {
  const { say, isOffered } = open(
    ({ prefix: { text } }) => !text.includes("\uFFFD") && text === text.trimEnd(),
  );
  say("a", "  ");
  expect(isOffered()).toBe(true);
  say("b\uFFFD");
  expect(isOffered()).toBe(false);
  say("c");
  expect(isOffered()).toBe(false);
});

test("an engine that continues after none of many tokens is asked less often, and stops when it can continue", () => {
  let [asked, can] = [0, true];
  const { say, want, yields } = open(() => (asked++, can));
  say("a");
  can = false;
  want();
  for (let i = 0; i < 1_000; i++) say("x");
  expect([yields(), asked < 80]).toEqual([0, true]);
  can = true;
  for (let i = 0; i < 32; i++) say("x");
  expect(yields()).toBe(1);
});

test("an engine that has said its last word takes its offer back", () => {
  const { say, isOffered, point } = open(() => true);
  say("a");
  point.finished();
  expect(isOffered()).toBe(false);
});

test("a turn that is over takes its offer back", () => {
  const { say, isOffered, point } = open(() => true);
  say("a");
  point[Symbol.dispose]();
  expect(isOffered()).toBe(false);
});
