import type { Broker } from "@reprise/log";
import { Thread } from "@reprise/service";
import type { LargeCreate, LargeCreated, LargeCreatesData } from "./messages.ts";

/** The body of a large request to create a generation. It stays bytes in this thread. */
export class LargeBody {
  /** As the client sent it: JSON, or not. */
  readonly bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.bytes = bytes;
  }
}

export interface LargeCreatesOptions extends Omit<LargeCreatesData, "broker"> {
  readonly broker: Broker;
  readonly onError: (error: unknown) => void;
}

/**
 * Creates generations with large requests in a thread of their own, with connections of its own: a megabyte of JSON, what is made of it, and
 * their garbage take tens of milliseconds, in which no small request and no token would get on here.
 */
export class LargeCreates implements AsyncDisposable {
  readonly #thread: Thread;

  constructor({ broker, onError, ...settings }: LargeCreatesOptions) {
    const { name, ...address } = broker.options;
    const data: LargeCreatesData = { ...settings, broker: { ...address, name: `${name}:large` } };
    this.#thread = new Thread({ script: new URL("thread.ts", import.meta.url), data, onError });
  }

  /** For how long the thread was busy so far, in milliseconds. */
  get busyMs(): number {
    return this.#thread.busyMs;
  }

  /** @throws RepriseError what `createFromBody` throws, `invalid_json`, and `overloaded` when the thread has died under it */
  create(request: LargeCreate): Promise<LargeCreated> {
    return this.#thread.call("create", request, [request.body.buffer]);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
