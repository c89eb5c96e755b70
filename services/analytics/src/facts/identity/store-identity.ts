import type { BlobStore } from "@reprise/archive";
import { pause, raceAbort } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { markStore, newStoreMarker, readMarker, type StoreMarker } from "./store-marker.ts";

export interface StoreIdentityOptions {
  readonly store: Pick<BlobStore, "get" | "create">;
  /** The ids that the broker keeps with places of this platform's lanes. @throws RepriseError `broker_unavailable` */
  readonly known: () => Promise<readonly string[]>;
}

/**
 * Checks that the store of analytics is still the same one: a folder that was moved away looks like an empty one. A store is marked once, if neither it nor the
 * broker has a marker; the broker keeps the
 * marker's id with the place of each lane, so another store, or an emptied one, is recognized at the start too. While a process runs, its store stays the same:
 * an operator who replaces it
 * restarts the process.
 */
export class StoreIdentity {
  readonly #options: StoreIdentityOptions;
  #id: string | undefined;
  #opening: Promise<string> | undefined;

  constructor(options: StoreIdentityOptions) {
    this.#options = options;
  }

  /** Undefined until the store was found once. */
  get id(): string | undefined {
    return this.#id;
  }

  /** @throws RepriseError `archive_unavailable` where the store is away, or is not the one that it was; `broker_unavailable`, `archive_corrupt` */
  async check(): Promise<void> {
    if (this.#id === undefined) {
      this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
      this.#id = await this.#opening;
      return;
    }
    const marker = await readMarker(this.#options.store);
    if (marker?.id !== this.#id) throw otherStore(marker, [this.#id]);
  }

  async #open(): Promise<string> {
    const { store, known } = this.#options;
    const ids = [...new Set(await known())];
    let marker = await readMarker(store);
    if (!marker && ids.length === 0) {
      await markStore(store, newStoreMarker());
      marker = await readMarker(store);
    }
    const isKnown = (id: string) => marker?.id === id || marker?.replaces.includes(id) === true;
    if (!marker || !ids.every(isKnown)) throw otherStore(marker, ids);
    return marker.id;
  }
}

function otherStore(marker: StoreMarker | undefined, ids: readonly string[]): RepriseError {
  const found = marker ? `is another one, ${marker.id}` : "is empty or away: it has no marker";
  return new RepriseError(
    "archive_unavailable",
    `The store of analytics ${found}. Rows are in store ${ids.join(", ")}: bring it back, or see docs/operations.md#when-the-rows-are-gone.`,
  );
}

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
