export interface OtlpOptions {
  /** Of the collector, without `/v1/traces`. */
  readonly url: string;
  /** `service.name` of its spans. */
  readonly service: string;
  /** `service.instance.id`: another one for each process. */
  readonly instance: string;
  /** Sent with each request, a key for one. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Which share of the traces that begin here is exported, from 0 to 1. */
  readonly sample: number;
  /** Of tenants that have another share. Default: none. */
  readonly sampleOfTenant?: ReadonlyMap<string, number>;
  /** A trace that waits longer than this for a worker, or for the first of what it asked for, is exported whatever the share, as is one with an error. 0: no wait is too long. Default 10 s. */
  readonly slowMs?: number;
  /** Whether spans of turns have what was asked and said. Default false. */
  readonly recordsContent?: boolean;
  /** The most that one export takes, with what is tried again. Default 5 s. */
  readonly timeoutMs?: number;
  /** The most that disposal waits for the collector. Default 2 s. */
  readonly closeMs?: number;
  /** The collector has not taken what it was sent: called once, until it does again. */
  readonly onAway: (error: unknown) => void;
  /** It takes spans again; `dropped` were lost meanwhile. */
  readonly onBack: (lost: { readonly dropped: number }) => void;
}
