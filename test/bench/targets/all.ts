import { startDurableStreams, startFloor, startResumableStream, startSocketIo } from "./peers.ts";
import { startReprise } from "./reprise/target.ts";
import type { RunningTarget } from "./target.ts";

/** Options of a target's start. */
export interface TargetSettings {
  /** Path of nats-server. */
  readonly natsServer: string;
  /** Path of redis-server. */
  readonly redis: string;
  /** Where Reprise's services leave a CPU profile when they end; undefined for none. */
  readonly profileDir: string | undefined;
}

/** Every system under test by its name on the command line. */
export const TARGETS = {
  floor: startFloor,
  reprise: startReprise,
  "resumable-stream": startResumableStream,
  "socket.io": startSocketIo,
  "durable-streams": startDurableStreams,
} as const satisfies Record<string, (settings: TargetSettings) => Promise<RunningTarget>>;

export type TargetName = keyof typeof TARGETS;

export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

export const NEEDS_REDIS: ReadonlySet<TargetName> = new Set(["resumable-stream", "socket.io"]);
