import type { Archive, BlobStore, Keyring } from "@reprise/archive";
import type { Broker } from "@reprise/broker";
import type { GenerationLog } from "@reprise/stream";
import type { RepriseError } from "@reprise/protocol";

/** The streams that generations live in. */
export interface LiveStreams {
  readonly broker: Broker;
  readonly log: GenerationLog;
  /** Number of streams of logs. */
  readonly shards: number;
}

/** The dependencies of operations that change the retention of archived data. */
export interface LifecycleContext {
  /** Opened to be written. */
  readonly archive: Archive;
  readonly store: BlobStore;
  readonly keyring: Keyring;
  /** Undefined where there is no broker: then only the archive is changed. */
  readonly live: LiveStreams | undefined;
  /** Called for each file that can't be read and is skipped. */
  readonly onDamaged?: (error: RepriseError) => void;
}
