import type { BrokerOptions, StoredEvent } from "@reprise/log";
import type { Generation, GenerationRef, Policy } from "@reprise/protocol";

/** What the thread is started with. */
export interface LargeCreatesData {
  readonly broker: BrokerOptions;
  readonly retentionMs: number;
}

/** A request to create a generation, whose body nothing but the thread parses. */
export interface LargeCreate {
  /** JSON, as the client sent it. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly ref: GenerationRef;
  readonly models: ReadonlySet<string>;
  readonly classifiers: ReadonlySet<string> | undefined;
  readonly tenantPolicy: Policy;
  readonly idempotencyKey: string | undefined;
  readonly joinOnly: boolean;
  readonly traceparent: string | undefined;
  readonly budgetMs: number;
  /** Whether the caller goes on with seq 0. */
  readonly isStream: boolean;
}

export interface LargeCreated {
  readonly joined: boolean;
  /** As it is right after its creation. */
  readonly generation: Generation;
  /** Seq 0, where it was asked for. */
  readonly first: Pick<StoredEvent, "payload" | "streamSeq"> | undefined;
}
