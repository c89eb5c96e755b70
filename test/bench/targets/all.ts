import { startDurableStreams } from "./durable-streams/target.ts";
import { startFloor } from "./floor/target.ts";
import { startReprise } from "./reprise/target.ts";
import { startResumableStream } from "./resumable-stream/target.ts";
import { startSocketIo } from "./socket-io/target.ts";
import type { RunningTarget } from "./target.ts";

/** Paths of the servers that targets run. */
export interface Binaries {
  readonly natsServer: string;
  readonly redis: string;
}

/** Every system under test by its name on the command line. */
export const TARGETS = {
  floor: startFloor,
  reprise: startReprise,
  "resumable-stream": startResumableStream,
  "socket.io": startSocketIo,
  "durable-streams": startDurableStreams,
} as const satisfies Record<string, (binaries: Binaries) => Promise<RunningTarget>>;

export type TargetName = keyof typeof TARGETS;

export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

export const NEEDS_REDIS: ReadonlySet<TargetName> = new Set(["resumable-stream", "socket.io"]);
