import type { NatsConnection } from "@nats-io/transport-node";
import {
  type ModerationRule,
  moderationRuleSchema,
  RepriseError,
  RULES_STREAM,
  ruleSetId,
  ruleSetIdOf,
  ruleSetSubject,
  type TenantId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import { type Publish, getLastMessage, getStreamInfo } from "@reprise/broker";

/*
 * The rules that generations are judged by, stored once under a name that follows from their content: a log names them and stays small,
 * and is judged by exactly these rules, now or later.
 */

/** Makes sure that a set of rules is kept for as long as the logs that name it. */
export interface RuleSetStore {
  /**
   * @returns the name of the rules
   * @throws RepriseError `broker_unavailable` when they could not be stored
   */
  keep(tenant: TenantId, rules: readonly ModerationRule[]): Promise<string>;
}

/** RULES keeps a set for three times the logs' life: stored again once in each, it outlives every log that names it. */
const MAX_KNOWN = 10_000;

/** @param retentionMs how long logs are kept */
export function createRuleSetStore(publish: Publish, retentionMs: number): RuleSetStore {
  const known = new Map<string, { atMs: UnixMs; stored: Promise<void> }>();

  async function store(subject: string, rules: readonly ModerationRule[]): Promise<void> {
    const { kind } = await publish(subject, new TextEncoder().encode(JSON.stringify(rules)), {});
    if (kind === "stored") return;
    throw new RepriseError("broker_unavailable", "The rules of moderation could not be stored.", {
      retryAfterMs: 1_000,
    });
  }

  return {
    async keep(tenant, rules) {
      const id = await ruleSetId(rules);
      const subject = ruleSetSubject(tenant, id);
      // By the wall clock, which the broker lets sets expire by.
      const now = unixNow();
      let entry = known.get(subject);
      if (!entry || now - entry.atMs > retentionMs) {
        entry = { atMs: now, stored: store(subject, rules) };
        known.set(subject, entry);
        entry.stored.catch(() => known.delete(subject));
        // There is a key: there are more than MAX_KNOWN.
        if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
      }
      await entry.stored;
      return id;
    },
  };
}

/**
 * The id follows from the rules: what another process has had stored in their place is not read.
 * @returns undefined when there are no such rules, or this version can't read them
 * @throws RepriseError `broker_unavailable`
 */
export async function readRuleSet(
  connection: NatsConnection,
  tenant: TenantId,
  id: string,
): Promise<ModerationRule[] | undefined> {
  const message = await getLastMessage(connection, RULES_STREAM, ruleSetSubject(tenant, id));
  if (!message) return undefined;
  const text = new TextDecoder().decode(message.payload);
  return (await ruleSetIdOf(text)) === id
    ? moderationRuleSchema.array().safeParse(JSON.parse(text)).data
    : undefined;
}

/**
 * When the oldest rules were stored, by the broker's clock: no log before that names any. Undefined while no generation has asked for
 * moderation.
 * @throws RepriseError `broker_unavailable`
 */
export async function firstRuleSetAt(connection: NatsConnection): Promise<Date | undefined> {
  const { state } = await getStreamInfo(connection, RULES_STREAM);
  return state.messages > 0 ? new Date(state.first_ts) : undefined;
}
