import type { StreamEvent } from "../transcript/stream-event.ts";

/** The answers that a log waits for. */
export interface FakeTools {
  /** The log after a seq, up to the first missing result. */
  readable(seq: number): StreamEvent[];
  /** Resolves when there may be more to read. */
  more(): Promise<void>;
  /** Takes an answer; returns the code of a refusal. */
  take(callId: string): "tool_result_conflict" | "tool_call_not_found" | undefined;
}

export function createFakeTools(log: readonly StreamEvent[], awaitsTools: boolean): FakeTools {
  const called = new Set(log.flatMap((event) => (event.type === "tool.call" ? [event["call_id"]] : [])));
  const answered = new Set<unknown>();
  let news = Promise.withResolvers<void>();
  const isHeld = (event: StreamEvent) =>
    awaitsTools && event.type === "tool.result" && !answered.has((event as { call_id: string }).call_id);
  return {
    readable(seq) {
      const end = log.findIndex(isHeld);
      return log.slice(seq, end === -1 ? undefined : end);
    },
    more: () => news.promise,
    take(callId) {
      if (!called.has(callId)) return "tool_call_not_found";
      if (answered.has(callId)) return "tool_result_conflict";
      answered.add(callId);
      news.resolve();
      news = Promise.withResolvers();
      return undefined;
    },
  };
}
