import { createClient, type GenerationStream, type StreamEvent } from "@reprise/client";
import { expect } from "vitest";
import type { ProxiedPlatform } from "./proxied-platform.ts";

/** Comes back at once: tests are about what it sees, not about its patience. */
const EAGER = { baseDelayMs: 1, maxDelayMs: 50 };

/** One reader with the SDK. */
export interface Follower {
  readonly stream: GenerationStream;
  readonly events: readonly StreamEvent[];
  /** The SDK's exception, if any. */
  readonly error: Promise<unknown>;
}

/** Readers of one generation through a proxy. */
export function follow(
  platform: Pick<ProxiedPlatform, "apiKey">,
  url: string,
  id: string,
  count: number,
): Follower[] {
  const { generations } = createClient({ url, apiKey: platform.apiKey, retry: EAGER });
  return Array.from({ length: count }, () => {
    const stream = generations.stream(id);
    const events: StreamEvent[] = [];
    const read = async (): Promise<unknown> => {
      try {
        for await (const event of stream) events.push(event);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    return { stream, events, error: read() };
  });
}

/** Resolves when each of them has seen that many more events. */
export async function untilMore(followers: readonly Follower[], count: number): Promise<void> {
  const goals = followers.map(({ events }) => events.length + count);
  await expect
    .poll(() => followers.filter(({ events }, index) => events.length < goals[index]!).length)
    .toBe(0);
}

/** Checks, when all have read to the end, that none was shown an error and each has seen the log. */
export async function expectUndisturbed(
  platform: Pick<ProxiedPlatform, "readLog">,
  id: string,
  followers: readonly Follower[],
): Promise<void> {
  const errors = await Promise.all(followers.map(({ error }) => error));
  expect(errors.filter((error) => error !== undefined)).toEqual([]);
  const stored = await platform.readLog(id);
  for (const { events } of followers) expect(events.map((event) => JSON.stringify(event))).toEqual(stored);
}
