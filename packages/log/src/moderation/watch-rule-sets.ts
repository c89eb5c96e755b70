import type { NatsConnection } from "@nats-io/transport-node";
import { RULES_SUBJECTS } from "@reprise/protocol";
import { firstRuleSetAt } from "./rule-sets.ts";

/** For rules that were stored while nothing was heard of them. */
const LOOK_EVERY_MS = 2_000;
/** What is published to be stored can be heard a moment before it is. */
const HEARD_BEFORE_MS = 25;

/**
 * Calls back once, as soon as any rules are stored: until then no log asks for moderation, and no consumer is needed.
 * @param onFirst called with the time at which the oldest were stored, by the broker's clock: no log that names any is older
 * @returns how to stop watching
 */
export function watchRuleSets(
  connection: NatsConnection,
  onFirst: (startTime: Date) => void,
): { readonly stop: () => void } {
  let done = false;
  let looking = false;
  const look = async () => {
    if (looking || done) return;
    looking = true;
    // A broker that is away is asked again.
    const first = await firstRuleSetAt(connection).catch(() => undefined);
    looking = false;
    if (!first || done) return;
    stop();
    onFirst(first);
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  const heard = connection.subscribe(RULES_SUBJECTS, {
    callback: () => void setTimeout(() => void look(), HEARD_BEFORE_MS),
  });
  const stop = () => {
    done = true;
    clearInterval(timer);
    heard.unsubscribe();
  };
  void look();
  return { stop };
}
