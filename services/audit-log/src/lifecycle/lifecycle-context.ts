import type { Archive, BlobStore, Keyring } from "@reprise/archive";
import type { Broker, GenerationLog } from "@reprise/log";
import type { RepriseError } from "@reprise/protocol";

/** The streams that generations live in. */
export interface LiveStreams {
  readonly broker: Broker;
  readonly log: GenerationLog;
  /** How many streams the logs are spread over. */
  readonly shards: number;
}

/** What it takes to change what an archive keeps. */
export interface LifecycleContext {
  /** Opened to be written. */
  readonly archive: Archive;
  readonly store: BlobStore;
  readonly keyring: Keyring;
  /** Undefined where there is no broker: then only the archive is changed. */
  readonly live: LiveStreams | undefined;
  /** Called for each file that can't be read, and that the work goes on without. */
  readonly onDamaged?: (error: RepriseError) => void;
}
