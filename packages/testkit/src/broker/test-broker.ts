import type { SyncInterval } from "@reprise/runtime";

export interface TestBrokerOptions {
  /** The largest message. Default 8 MiB. */
  maxPayloadBytes?: number;
  /** Default: nats-server's own. `always` is slow and survives a crash of the machine, which no test makes. */
  syncInterval?: SyncInterval;
  /** Further fields of nats-server's configuration, such as `authorization`. Files that it names have to be where the server runs. */
  extraConfig?: Readonly<Record<string, unknown>>;
}

/** A real nats-server with JetStream in files, alone on an address that stays the same until it is disposed of. */
export interface TestBroker extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The server's process, a new one after each `restart()`. */
  readonly pid: number;
  /** `container` where a Docker engine answers and has the image, else `binary`. */
  readonly kind: "binary" | "container";
  /**
   * Sends the server a signal: SIGKILL for a crash, SIGSTOP and SIGCONT for a pause. When it resolves, a killed server has ended, and a stopped one is paused.
   */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the server if it runs, and starts it again with the same store on the same port. */
  restart(): Promise<void>;
  /** Ends the server and keeps its store: `restart()` brings it back. */
  stop(): Promise<void>;
}
