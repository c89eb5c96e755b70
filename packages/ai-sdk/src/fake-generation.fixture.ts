import type { Client, StreamEvent } from "@reprise/client";
import type { FollowedGeneration } from "./ui-stream/to-ui-message-stream-response.ts";

/** An event without its seq. */
export type Draft = { readonly type: string; readonly [field: string]: unknown };

export const FAKE_ID = "gen_0_00000000000000000000000000";
export const USAGE = { input_tokens: 3, output_tokens: 5, cached_input_tokens: 1, reasoning_tokens: 2 };

export const STARTED: Draft = { type: "generation.started", attempt: 1, worker: "w1", model: "sim" };
export const COMPLETED: Draft = { type: "generation.completed", finish_reason: "stop", usage: USAGE };
export const CANCELLED: Draft = { type: "generation.cancelled", reason: "client", usage: USAGE };
export const FAILED: Draft = {
  type: "generation.failed",
  error: { code: "engine_rejected", message: "No.", retryable: false },
  usage: USAGE,
};
export const delta = (text: string): Draft => ({ type: "output.delta", text });
export const called = (args: string, more: object = {}): Draft => ({
  type: "tool.call",
  call_id: "call_1",
  name: "look_up",
  arguments: args,
  ...more,
});

/** Gives events their seq, from 1. */
export function toEvents(drafts: readonly Draft[]): StreamEvent[] {
  return drafts.map((draft, i) => ({ seq: i + 1, ...draft }) as unknown as StreamEvent);
}

export interface FakeGeneration extends FollowedGeneration {
  /** True if its reader has left it. */
  readonly wasLeft: boolean;
}

export interface FakeGenerationOptions {
  /** The error that its loop throws after the last event. Default: it just ends. */
  readonly failure?: Error;
  /** Keeps the loop open for ever after the last event, without further events. */
  readonly isSilent?: boolean;
}

/** A stream of the client's, of these events. */
export function createFakeGeneration(
  drafts: readonly Draft[],
  { failure, isSilent = false }: FakeGenerationOptions = {},
): FakeGeneration {
  const left = Promise.withResolvers<void>();
  let wasLeft = false;
  const events = toEvents(drafts).values();
  return {
    id: FAKE_ID,
    get wasLeft() {
      return wasLeft;
    },
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = events.next();
        if (done !== true && !wasLeft) return { done: false, value };
        if (failure && !wasLeft) throw failure;
        if (isSilent) await left.promise;
        return { done: true, value: undefined };
      },
      async return() {
        wasLeft = true;
        left.resolve();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** A client whose runs are these generations, one after the other, with what it was asked to run. */
export function createFakeClient(...generations: readonly FakeGeneration[]): {
  readonly client: Pick<Client, "generations">;
  readonly runs: readonly (readonly unknown[])[];
} {
  const runs: (readonly unknown[])[] = [];
  const run = (...call: readonly unknown[]): FakeGeneration => {
    const generation = generations[runs.push(call) - 1];
    if (!generation) throw new Error(`the test has no generation for run ${runs.length}`);
    return generation;
  };
  return { client: { generations: { run } } as unknown as Client, runs };
}
