import type { Broker, LogSnapshot, StoredEvent } from "@reprise/log";
import type { EffectivePolicy, GenerationRef } from "@reprise/protocol";

export interface PaceOptions {
  readonly connection: Broker["main"];
  readonly ref: GenerationRef;
  readonly policy: EffectivePolicy;
  readonly snapshot: LogSnapshot;
  readonly onError: (error: unknown) => void;
}

export interface Pace extends Disposable {
  stored(event: StoredEvent): void;
  hold(signal: AbortSignal): Promise<unknown> | undefined;
}

export function createPace(_options: PaceOptions): Pace | undefined {
  return undefined;
}
