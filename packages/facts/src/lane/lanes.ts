import { type Broker, type Publish } from "@reprise/broker";
import { holdLeases } from "@reprise/jobs";

export interface LanesOptions {
  readonly broker: Broker;
  readonly publish: Publish;
  /** Group of the leases, one lease for each stream. */
  readonly group: string;
  readonly streams: readonly string[];
  /** This process. */
  readonly holder: string;
  /** Consumes a stream until the signal aborts, or another process is found to consume it. */
  readonly run: (stream: string, signal: AbortSignal) => Promise<"stopped" | "fenced">;
  /** Called for a stream that this process consumes no longer, with all of it consumed or not. */
  readonly onEnded: (stream: string) => void;
  /** Called if this process has the lease, but another one has committed after its last commit. */
  readonly onFenced: (stream: string) => void;
  readonly onError: (error: unknown) => void;
}

export interface Lanes {
  /** Number of streams that this process consumes now. */
  readonly size: number;
  /** Commits the messages that were read, and lets other processes continue. */
  close(): Promise<void>;
}

/** Consumes the streams that this process holds a lease for. Replicas share them. */
export function runLanes(options: LanesOptions): Lanes {
  const { broker, publish, group, streams, holder, run, onEnded, onFenced, onError } = options;
  const running = new Map<string, { stop: AbortController; done: Promise<void> }>();
  const begin = (stream: string) => {
    const stop = new AbortController();
    const done = run(stream, stop.signal).then((end) => {
      running.delete(stream);
      onEnded(stream);
      if (end === "stopped") return;
      onFenced(stream);
      leases.forfeit(stream);
    }, onError);
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
    group,
    names: streams,
    holder,
    onGained: begin,
    onLost: end,
    onError,
  });
  return {
    get size() {
      return running.size;
    },
    close: () => leases.close(),
  };
}
