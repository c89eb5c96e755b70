import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Judgement } from "./classifier.ts";
import { type ProtectionOptions, protectClassifier } from "./protect-classifier.ts";
import { createFakeClassifier, type FakeClassifierOptions, judged } from "./testing/fake-classifier.ts";

const UNAVAILABLE: Judgement = { kind: "unjudged", reason: "unavailable" };
const SUBJECT = { input: "a window" };
const NEVER = new Promise<never>(() => undefined);
const BREAKER = { failuresToOpen: 2, openMs: 100, maxOpenMs: 1_000 };

function protect(judge: FakeClassifierOptions["judge"], options: Partial<ProtectionOptions> = {}) {
  const fake = createFakeClassifier({ judge: judge! });
  const limits = { timeoutMs: 600_000, maxConcurrency: 2, breaker: BREAKER, ...options };
  const classifier = protectClassifier(fake, limits);
  const classify = (signal = new AbortController().signal) => classifier.classify(SUBJECT, signal);
  return { fake, classifier, classify };
}

describe("a protected classifier", () => {
  test("gives up after timeoutMs, and tells the classifier", async () => {
    let told: AbortSignal | undefined;
    const { classify } = protect(
      (_, signal) => {
        told = signal;
        return NEVER;
      },
      { timeoutMs: 5 },
    );
    expect(await classify()).toEqual({ kind: "unjudged", reason: "timeout" });
    expect(told!.aborted).toBe(true);
  });

  test("makes at most maxConcurrency calls at once, and then the waiting ones, in order", async () => {
    const answers = Array.from({ length: 4 }, () => Promise.withResolvers<Judgement>());
    let asked = 0;
    const { fake, classify } = protect(() => answers[asked++]!.promise);
    const results = answers.map(() => classify());
    await expect.poll(() => fake.subjects).toHaveLength(2);
    answers[0]!.resolve(judged());
    await results[0];
    await expect.poll(() => fake.subjects).toHaveLength(3);
    for (const { resolve } of answers) resolve(judged());
    expect(await Promise.all(results)).toHaveLength(4);
  });

  test("counts the wait for a slot towards the timeout", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { classify } = protect(() => NEVER, { maxConcurrency: 1, timeoutMs: 5 });
    const results = Promise.all([classify(), classify()]);
    await vi.advanceTimersByTimeAsync(5);
    const timeout = { kind: "unjudged", reason: "timeout" };
    expect(await results).toEqual([timeout, timeout]);
  });

  test("is left alone after failures running, and asked again when its time is over", async () => {
    let nowMs = 0;
    let answer: Judgement = UNAVAILABLE;
    const { fake, classify } = protect(() => answer, { now: () => nowMs });
    await classify();
    await classify();
    expect(await classify()).toEqual({ kind: "unjudged", reason: "open" });
    expect(fake.subjects).toHaveLength(2);
    nowMs = 100;
    answer = judged();
    expect(await classify()).toEqual(judged());
    expect(await classify()).toEqual(judged());
  });

  test("is asked on, however many answers make no sense: they may be the text's doing", async () => {
    const invalid: Judgement = { kind: "unjudged", reason: "invalid" };
    const { fake, classify } = protect(() => invalid);
    for (let i = 0; i < 5; i++) expect(await classify()).toEqual(invalid);
    expect(fake.subjects).toHaveLength(5);
  });

  test("is unavailable when it throws, and repeats nothing of the error but its name", async () => {
    const { classify } = protect(() => {
      throw new TypeError(`can't judge ${SUBJECT.input}`);
    });
    expect(await classify()).toEqual({ kind: "unjudged", reason: "unavailable", detail: "TypeError" });
  });

  test("throws the reason when its caller aborts, gives the slot back, and counts no failure", async () => {
    const { fake, classify } = protect(() => (fake.subjects.length <= 3 ? NEVER : judged()), {
      maxConcurrency: 1,
    });
    for (let i = 0; i < 3; i++) {
      const abort = new AbortController();
      const result = classify(abort.signal);
      await expect.poll(() => fake.subjects).toHaveLength(i + 1);
      abort.abort(new Error("enough"));
      await expect(result).rejects.toThrow("enough");
    }
    expect(await classify()).toEqual(judged());
  });

  test("throws the reason when its caller aborts while it waits for a slot", async () => {
    const { promise, resolve } = Promise.withResolvers<Judgement>();
    const { fake, classify } = protect(() => promise, { maxConcurrency: 1 });
    const first = classify();
    const abort = new AbortController();
    const second = classify(abort.signal);
    abort.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    resolve(judged());
    expect(await first).toEqual(judged());
    expect(fake.subjects).toHaveLength(1);
  });

  test("closes once what is under way is judged, the windows that wait too", async () => {
    const { promise, resolve } = Promise.withResolvers<Judgement>();
    const { fake, classifier, classify } = protect(() => promise, { maxConcurrency: 1 });
    const results = [classify(), classify()];
    const closing = classifier.close();
    expect(fake.closed).toBe(false);
    resolve(judged());
    expect(await Promise.all(results)).toEqual([judged(), judged()]);
    await closing;
    expect(fake.closed).toBe(true);
  });
});
