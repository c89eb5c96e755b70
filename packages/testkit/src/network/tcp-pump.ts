import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Faults in one direction of a connection. None by default. */
export interface PumpFaults {
  /** Everything arrives this much later, in milliseconds. */
  latencyMs?: number;
  /** Maximum additional delay, random for each piece; later pieces wait, so order is kept. */
  jitterMs?: number;
  /** Bytes are passed on in slices of this size, each in a turn of its own: 1 splits every frame and every character. */
  sliceBytes?: number;
  /** After exactly this many bytes since the connection began, both ends are reset. 0: before the first. */
  cutAfterBytes?: number;
  /** Passes nothing on, not even an end; data waits, and continues when the fault is lifted. Simulates a peer that is gone without a FIN or RST. */
  stalled?: boolean;
  /** Discards data without either end noticing: with `toClient`, acks are lost. */
  dropped?: boolean;
}

/** Called for all bytes of a connection as they come in, before any fault: it must not throw. */
export interface ConnectionTap {
  readonly toServer: (bytes: Buffer) => void;
  readonly toClient: (bytes: Buffer) => void;
}

export interface Pump {
  /** Number of bytes forwarded so far. */
  readonly forwardedBytes: number;
  setFaults(faults: PumpFaults): void;
}

export interface PumpOptions {
  source: Socket;
  sink: Socket;
  faults: PumpFaults;
  /** Resets both ends. */
  cut: () => void;
  /** At least 0, less than 1: what jitter is drawn from. */
  random: () => number;
  onBytes?: ((bytes: Buffer) => void) | undefined;
}

/** Beyond this the source is paused, so a stall is felt by the sender as it would be over a real network. */
const MAX_QUEUED_BYTES = 1_024 * 1_024;

/**
 * Moves bytes from one socket to another, in order, through faults that may change at any time. One loop takes from a queue; any event that may let it
 * continue (bytes, an end, other faults) wakes it.
 */
export function startPump({ source, sink, faults: initial, cut, random, onBytes }: PumpOptions): Pump {
  const queue: { bytes: Buffer; dueAt: number }[] = [];
  let faults = initial;
  let queuedBytes = 0;
  let forwardedBytes = 0;
  let ended = false;
  let woken = Promise.withResolvers<void>();

  const wake = (): void => {
    woken.resolve();
    woken = Promise.withResolvers();
  };

  source.on("data", (bytes: Buffer) => {
    onBytes?.(bytes);
    const { latencyMs = 0, jitterMs = 0 } = faults;
    queue.push({ bytes, dueAt: performance.now() + latencyMs + jitterMs * random() });
    queuedBytes += bytes.length;
    if (queuedBytes >= MAX_QUEUED_BYTES) source.pause();
    wake();
  });
  source.on("end", () => {
    ended = true;
    wake();
  });
  sink.on("close", wake);

  async function forward(bytes: Buffer): Promise<void> {
    if (faults.dropped) return;
    for (let rest = bytes; rest.length > 0 && !sink.destroyed;) {
      const { sliceBytes, cutAfterBytes = Infinity } = faults;
      const slice = rest.subarray(
        0,
        Math.min(sliceBytes ?? rest.length, Math.max(0, cutAfterBytes - forwardedBytes)),
      );
      rest = rest.subarray(slice.length);
      if (slice.length > 0) await written(sink, slice);
      forwardedBytes += slice.length;
      if (forwardedBytes >= cutAfterBytes) return cut();
      if (sliceBytes !== undefined) await nextTurn();
    }
  }

  async function run(): Promise<void> {
    while (!sink.destroyed) {
      const moreToDo = woken.promise;
      const head = queue[0];
      if (faults.stalled || (head === undefined && !ended)) await moreToDo;
      else if (head === undefined) return void sink.end();
      else if (head.dueAt > performance.now()) await delay(head.dueAt - performance.now());
      else {
        queue.shift();
        queuedBytes -= head.bytes.length;
        await forward(head.bytes);
        if (queuedBytes < MAX_QUEUED_BYTES) source.resume();
      }
    }
  }

  void run();
  return {
    get forwardedBytes() {
      return forwardedBytes;
    },
    setFaults(next) {
      faults = next;
      wake();
    },
  };
}

/** By the global timer, which a test can replace. */
function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** Resolves when the kernel has the bytes, or when it never will: the loop looks at the socket then. */
function written(sink: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    sink.write(bytes, () => resolve());
  });
}
