import type { LogEvent } from "@reprise/archive";

export interface PaceOptions {
  /** Speed relative to the generation. Infinity: no pauses. */
  speed: number;
  /** Milliseconds, only ever more. */
  now: () => number;
  /** Resolves after this many milliseconds. */
  pause: (ms: number) => Promise<unknown>;
}

/** Hands on events when they are due: as long after the first one as they were stored, divided by `speed`. The first one is due at once. */
export async function* inPace<E extends Pick<LogEvent, "storedAtUs">>(
  events: AsyncIterable<E>,
  { speed, now, pause }: PaceOptions,
): AsyncGenerator<E> {
  let first: { readonly storedAtUs: number; readonly startedAt: number } | undefined;
  for await (const event of events) {
    first ??= { storedAtUs: event.storedAtUs, startedAt: now() };
    const dueAt = first.startedAt + (event.storedAtUs - first.storedAtUs) / 1_000 / speed;
    const waitMs = dueAt - now();
    if (waitMs > 0) await pause(waitMs);
    yield event;
  }
}
