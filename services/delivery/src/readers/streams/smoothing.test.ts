import { openSseReader } from "@reprise/testkit";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  append,
  authorization,
  completed,
  createGeneration,
  deltas,
  openPlatform,
  REQUEST,
  started,
} from "../../testing/platform.ts";
import { Smoothing } from "./smoothing.ts";

describe("smoothing", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const INTERVAL_MS = 100;

  /** The moments at which something is sent when something comes at these. */
  function sentAt(moments: readonly number[]): number[] {
    const from = Date.now();
    const sent: number[] = [];
    const smoothing = new Smoothing(INTERVAL_MS, () => sent.push(Date.now() - from));
    for (const moment of moments) {
      vi.advanceTimersByTime(moment - (Date.now() - from));
      smoothing.onProgress();
    }
    vi.advanceTimersByTime(INTERVAL_MS);
    smoothing.stop();
    return sent;
  }

  test("sends the first at once, and what comes within an interval at its end", () => {
    expect(sentAt([0, 1, 50, 99, 150, 400])).toEqual([0, 100, 200, 400]);
  });

  test("never sends twice in an interval, nor anything later than an interval after it came", () => {
    const anyMoments = fc
      .array(fc.nat(1_000), { minLength: 1 })
      .map((moments) => moments.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(anyMoments, (moments) => {
        const sent = sentAt(moments);
        const pauses = sent.slice(1).map((at, i) => at - sent[i]!);
        expect(Math.min(...pauses, INTERVAL_MS)).toBe(INTERVAL_MS);
        for (const moment of moments) {
          expect(
            sent.some((at) => at >= moment && at - moment <= INTERVAL_MS),
            `${moment} in ${sent.join()}`,
          ).toBe(true);
        }
      }),
    );
  });

  test("sends nothing once it is stopped", () => {
    const send = vi.fn();
    const smoothing = new Smoothing(INTERVAL_MS, send);
    smoothing.onProgress();
    smoothing.onProgress();
    smoothing.stop();
    vi.advanceTimersByTime(1_000);
    expect(send).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a reader of a generation whose policy asks for smoothing", () => {
  const body = { ...REQUEST, policy: { delivery: { min_interval_ms: 200 } } };

  test("gets the bytes that a replay gives, and a clean end", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform, { body });
    const url = `${platform.node.url}${path}/events`;
    await using smooth = await openSseReader(url, { headers: authorization() });
    await append(worker, started(), ...deltas(200), completed());
    expect(await smooth.ended).toBe("clean");
    await using replay = await openSseReader(url, { headers: authorization() });
    expect(await replay.ended).toBe("clean");
    expect(replay.bytes).toEqual(smooth.bytes);
    expect(smooth.frames).toHaveLength(202);
  });
});
