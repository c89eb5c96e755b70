import type { Broker, Forbidden } from "@reprise/broker";
import type { Logger } from "../lifecycle/logger.ts";

const EVERY_MS = 60_000;
const WORDS = 2;
const API = "$JS.API.";
/** Number of words in `$JS.API.STREAM.INFO`. */
const API_WORDS = 4;

/**
 * Logs what the broker refuses to this process's user, once a minute for each kind of subject: its first words, for the rest names
 * generations. The broker says it some time after the call, and a publish that is refused gets no other answer.
 */
export function logForbidden(broker: Pick<Broker, "onForbidden">, logger: Logger): void {
  const loggedAtMs = new Map<string, number>();
  broker.onForbidden(({ operation, subject }: Forbidden) => {
    const words = subject.startsWith(API) ? API_WORDS : WORDS;
    const kind = `${operation} ${subject.split(".", words).join(".")}`;
    const nowMs = performance.now();
    if (nowMs < (loggedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) + EVERY_MS) return;
    loggedAtMs.set(kind, nowMs);
    logger.error({ operation, subject }, "the broker refuses this to this process's user");
  });
}
