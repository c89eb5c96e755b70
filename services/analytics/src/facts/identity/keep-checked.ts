import { pause, raceAbort } from "@reprise/async";
import type { StoreIdentity } from "./store-identity.ts";

export interface KeepCheckedOptions {
  readonly identity: Pick<StoreIdentity, "check">;
  readonly onFound: () => void;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 2_000;

/** Looks at the store every two seconds until it is disposed of: one that nothing is written to is missed as well. */
export function keepChecked({ identity, onFound, onError }: KeepCheckedOptions): AsyncDisposable {
  const stop = new AbortController();
  const check = async () => {
    while (!stop.signal.aborted) {
      await raceAbort(identity.check(), stop.signal).then(onFound, (error: unknown) => {
        if (!stop.signal.aborted) onError(error);
      });
      await pause(EVERY_MS, stop.signal);
    }
  };
  const done = check();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}
