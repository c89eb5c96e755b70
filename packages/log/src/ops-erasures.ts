import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { ERASED_SUBJECTS, type GenerationRef, parseOpsSubject } from "@reprise/protocol";

export interface ErasureFeedOptions {
  /** Called for each generation that is erased, inside the connection's read loop: it has to be short. */
  onErased: (ref: GenerationRef) => void;
  /** Told what `onErased` throws, and of messages that name no generation. */
  onError: (error: unknown) => void;
}

/** Hears of erased generations, of every tenant, as it is recorded: at most once. */
export function subscribeErasures(
  connection: NatsConnection,
  { onErased, onError }: ErasureFeedOptions,
): Subscription {
  return connection.subscribe(ERASED_SUBJECTS, {
    callback: (error, msg) => {
      try {
        if (error) throw error;
        const { tenant, generation } = parseOpsSubject(msg.subject);
        if (generation !== undefined) onErased({ tenant, generation });
      } catch (thrown) {
        onError(thrown);
      }
    },
  });
}
