import type { Broker, Publish } from "@reprise/log";
import { holdLeases } from "@reprise/log";
import { LEASE_GROUPS } from "@reprise/protocol";
import type { Logger } from "@reprise/service";
import { archiveLane, type LaneOptions } from "./lane-archiver.ts";

export interface LanesOptions extends Omit<LaneOptions, "stream" | "connection"> {
  readonly broker: Broker;
  readonly publish: Publish;
  readonly streams: readonly string[];
  /** This process. */
  readonly holder: string;
  readonly logger: Logger;
  /** Called for a stream that this process archives no longer, with all of it archived or not. */
  readonly onEnded: (stream: string) => void;
}

export interface Lanes {
  /** How many streams this process archives now. */
  readonly size: number;
  /** Archives what has been read, and lets others go on. */
  close(): Promise<void>;
}

/** Archives the streams that this process holds a lease for. Replicas share them. */
export function runLanes(options: LanesOptions): Lanes {
  const { broker, publish, streams, holder, logger, onEnded, ...context } = options;
  const running = new Map<string, { stop: AbortController; done: Promise<void> }>();
  const begin = (stream: string) => {
    const stop = new AbortController();
    const archiving = archiveLane({ ...context, connection: broker.reads, stream }, stop.signal);
    const done = archiving.then((end) => {
      running.delete(stream);
      onEnded(stream);
      if (end === "stopped") return;
      // This process has the lease, but another one has committed behind its last commit.
      logger.warn({ stream }, "fenced: another replica archives this stream; its lease is given up");
      leases.forfeit(stream);
    }, context.onError);
    running.set(stream, { stop, done });
  };
  const end = async (stream: string) => {
    const lane = running.get(stream);
    lane?.stop.abort();
    await lane?.done;
  };
  const leases = holdLeases({
    broker,
    publish,
    group: LEASE_GROUPS.lanes,
    names: streams,
    holder,
    onGained: begin,
    onLost: end,
    onError: context.onError,
  });
  return {
    get size() {
      return running.size;
    },
    close: () => leases.close(),
  };
}
