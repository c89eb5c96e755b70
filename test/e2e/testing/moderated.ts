import { subscribeVerdicts } from "@reprise/moderation";
import {
  decodeEvent,
  type JudgedSpan,
  type KnownEvent,
  type ModerationPolicy,
  parseGenerationId,
  parseTenantId,
  Withdrawals,
  asSeq,
} from "@reprise/protocol";
import { untilAnswered } from "@reprise/testkit";
import { type Cluster, textOf } from "./cluster.ts";

/** A card number that passes Luhn's check, and its replacement. */
export const CARD = "4111 1111 1111 1111";
export const MASK = "[redacted]";

/** The tenant of this cluster. */
export const TENANT = "acme";

/** For policies: longer than moderation is away or busy, on any machine. */
export const PATIENT = { on_unavailable: { after_ms: 600_000 } };

/** A request whose model says exactly this, and whose readers wait for moderation. Default: 100 chunks a second. */
export function saying(chunks: readonly string[], moderation: ModerationPolicy, tokensPerSecond = 100) {
  return {
    model: "sim",
    input: "Say it.",
    options: { chunks: [...chunks], tokens_per_second: tokensPerSecond },
    policy: { moderation: { ...PATIENT, ...moderation } },
  };
}

export interface Judged {
  readonly events: readonly KnownEvent[];
  readonly text: string;
  /** The events as readers get them who come when all is over. */
  readonly shown: readonly string[];
  /** Which decisions moderation has made, in order. */
  readonly decisions: readonly string[];
  /** Which events were judged by which rules. */
  readonly spans: readonly JudgedSpan[];
}

/** Resolves when a generation has ended, and moderation's stored word is that it has judged all of it. */
export async function untilJudged(cluster: Cluster, id: string): Promise<Judged> {
  const ref = { tenant: parseTenantId(TENANT), generation: parseGenerationId(id) };
  let moved = Promise.withResolvers<void>();
  const feed = subscribeVerdicts(cluster.broker.main, ref, {
    onVerdict: () => moved.resolve(),
    onError: () => moved.resolve(),
  });
  try {
    await cluster.broker.main.flush();
    for (;;) {
      moved = Promise.withResolvers();
      const stored = await untilAnswered(() => cluster.log.verdicts.readVerdictFromLeader(ref));
      const payloads = await cluster.readLog(TENANT, id);
      const events = payloads.map((payload) => decodeEvent(payload) as KnownEvent);
      if (events.some(hasEnded) && stored?.verdict.judged === events.length - 1)
        return { events, ...sum(payloads, events), spans: stored.verdict.spans ?? [] };
      await moved.promise;
    }
  } finally {
    feed.unsubscribe();
  }
}

/** The spans of a log whose events are all judged. */
export function wholly({ events, spans }: Judged): JudgedSpan[] {
  return [{ rule_set: "", ...spans[0], from_seq: asSeq(1), to_seq: asSeq(events.length - 1) }];
}

function sum(payloads: readonly string[], events: readonly KnownEvent[]) {
  const withdrawals = new Withdrawals();
  for (const event of events) withdrawals.apply(event);
  const shown = payloads.map((payload, seq) =>
    Buffer.from(withdrawals.project(asSeq(seq), Buffer.from(payload))).toString(),
  );
  const decisions = events.map(({ type }) => type).filter((type) => type.startsWith("moderation."));
  return { text: textOf(events), shown: shown.slice(1), decisions };
}

const hasEnded = ({ type }: KnownEvent): boolean => /\.(?:completed|failed|cancelled)$/.test(type);
