import type { NatsConnection } from "@nats-io/transport-node";
import { RULES_SUBJECTS } from "@reprise/protocol";
import { type OnStale, RefreshLoop } from "@reprise/broker";
import { firstRuleSetAt } from "./rule-sets.ts";

/** For rules that were stored while nothing was heard of them. */
const LOOK_EVERY_MS = 2_000;
/** A published message can be heard a moment before it is stored. */
const HEARD_BEFORE_MS = 25;

/**
 * Calls back once, as soon as any rules are stored: until then no log asks for moderation, and no consumer is needed.
 * @param onFirst called with the time at which the oldest were stored, by the broker's clock: no log that names any is older
 * @param onStale called when RULES can't be read for 6 s, and when it can again
 * @returns how to stop watching
 */
export function watchRuleSets(
  connection: NatsConnection,
  onFirst: (startTime: Date) => void,
  onStale?: OnStale,
): { readonly stop: () => void } {
  let isDone = false;
  const read = async () => {
    const first = await firstRuleSetAt(connection);
    if (!first || isDone) return;
    stop();
    onFirst(first);
  };
  const what = "the rules of moderation";
  const refresh = new RefreshLoop({ connection, what, read, onStale, everyMs: LOOK_EVERY_MS });
  const heard = connection.subscribe(RULES_SUBJECTS, {
    callback: () => void setTimeout(() => refresh.hint(), HEARD_BEFORE_MS),
  });
  const stop = () => {
    isDone = true;
    void refresh.close();
    heard.unsubscribe();
  };
  refresh.hint();
  return { stop };
}
