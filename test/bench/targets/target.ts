import type { Child } from "../children/child.ts";
import type { Schedule } from "../children/schedule.ts";
import type { MeasuredProcess } from "../measure/process-usage.ts";

/** The connection of one reader. Plain data: it goes to the load client's process. */
export type ReaderSpec =
  | {
      transport: "sse";
      port: number;
      path: string;
      headers: Readonly<Record<string, string>>;
      /** JSON of a create that is answered with its stream. Default: the path is read. */
      body?: string;
      /** For tokens that don't say when they were due: the place in the schedule of the stream that is read. */
      countedAs?: number;
    }
  | { transport: "socket.io"; url: string; room: string }
  /** A session of the one WebSocket that all of these share. */
  | { transport: "socket"; port: number; apiKey: string; generation: string };

/** A system under test, running. */
export interface RunningTarget extends AsyncDisposable {
  /** The processes between a token and its reader, in that order. */
  readonly processes: readonly MeasuredProcess[];
  /** The process that delivers to readers; its CPU is compared with the floor's. */
  readonly deliveryRole: string;
  /** True if a late reader gets the events that it has missed. */
  readonly replays: boolean;
  openStreams(count: number): Promise<ReaderSpec[]>;
  /** Resolves when so many streams have begun, those included that readers create. */
  begun(count: number): Promise<void>;
  produce(schedule: Schedule, options?: { silent?: boolean }): Promise<void>;
  /** A stream that already has this many events, and has not ended. */
  fill(events: number): Promise<ReaderSpec>;
  /** Has the delivering process collect garbage; answers with what its heap then holds, undefined where it can't. */
  collectGarbage(): Promise<number | undefined>;
}

export interface TargetParts {
  processes: readonly MeasuredProcess[];
  deliveryRole: string;
  replays?: boolean;
  producer: Child;
  /** The process that was started with `probe.ts` and `--expose-gc`, if any. */
  probed?: Child;
  readerOf: (id: string) => ReaderSpec;
  /** Everything that runs, to be ended in reverse order. */
  stack: AsyncDisposableStack;
}

/** A target whose producer process is made with `serveProducer`. */
export function createTarget(parts: TargetParts): RunningTarget {
  const { processes, deliveryRole, replays = true, producer, probed, readerOf, stack } = parts;
  return {
    processes,
    deliveryRole,
    replays,
    async openStreams(count) {
      const ids = await producer.call<string[]>("open", { count });
      return ids.map(readerOf);
    },
    begun: (count) => producer.call("begun", { count }),
    produce: (schedule, { silent = false } = {}) => producer.call("produce", { ...schedule, silent }),
    async fill(events) {
      return readerOf(await producer.call<string>("fill", { events }));
    },
    async collectGarbage() {
      return (await probed?.call<{ heapBytes: number }>("collectGarbage"))?.heapBytes;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
