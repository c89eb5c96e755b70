import { type Child, startChild } from "../children/child.ts";
import type { ReaderSpec } from "../targets/target.ts";
import type { Measured, MeasureOrder } from "./measurement.ts";

export interface ConnectOrder {
  specs: readonly ReaderSpec[];
  /** Readers per spec. */
  copies: number;
}

export interface CollectOrder {
  /** Tokens of the measured time, over all readers. */
  expected: number;
  patienceMs: number;
}

export interface CatchUpOrder {
  spec: ReaderSpec;
  copies: number;
  /** Number of tokens that a reader has to have before it counts as caught up. */
  events: number;
}

/** The process with all the readers, seen from the bench. */
export interface LoadClient extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when all are connected. */
  connect(order: ConnectOrder): Promise<void>;
  /** Connects readers that read the head of their answer, and nothing else. */
  stall(order: ConnectOrder): Promise<void>;
  /** Tokens that are due before then count for nothing. */
  measureFrom(order: MeasureOrder): Promise<void>;
  collect(order: CollectOrder): Promise<Measured>;
  /** Readers that connect at the same time; microseconds until each had caught up. */
  catchUp(order: CatchUpOrder): Promise<number[]>;
  disconnect(): Promise<void>;
}

export async function startLoadClient(): Promise<LoadClient> {
  const child: Child = await startChild({
    name: "load client",
    script: new URL("./client.ts", import.meta.url),
  });
  return {
    pid: child.pid,
    connect: (order) => child.call("connect", order),
    stall: (order) => child.call("stall", order),
    measureFrom: (order) => child.call("measureFrom", order),
    collect: (order) => child.call("collect", order),
    catchUp: (order) => child.call("catchUp", order),
    disconnect: () => child.call("disconnect"),
    [Symbol.asyncDispose]: () => child.stop(),
  };
}
