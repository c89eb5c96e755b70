import { randomBytes } from "node:crypto";
import { Appender, createGenerationLog, type GenerationLog, headOf, subscribeLive } from "@reprise/stream";
import { type Broker, connectBroker, createWriterName, openBroker } from "@reprise/broker";
import { createRuleSetStore } from "@reprise/moderation";
import {
  createGenerationId,
  decodeEvent,
  type EffectiveModeration,
  type EventDraft,
  type GenerationRef,
  type KnownEvent,
  type ModerationRule,
  parseTenantId,
  type TenantId,
  tightenPolicy,
  type Verdict,
  asStreamSeq,
} from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { eventually, startTestBroker, type TestBroker, untilAnswered } from "@reprise/testkit";
import type { Classifiers } from "../classifiers/classifiers-file.ts";
import { type Moderation, startModeration } from "../service.ts";
import { GATE } from "./log-of.ts";

const HOUR_MS = 3_600_000;
const TENANT = parseTenantId("acme");

/** A generation's log and its writer, as a worker is. */
export interface Written {
  readonly ref: GenerationRef;
  /** Resolves when they are stored, in order, with what others have stored in between. */
  readonly append: (...drafts: EventDraft[]) => Promise<void>;
}

/** A real broker, and what surrounds moderation: creators, writers and readers of generations. */
export interface World extends AsyncDisposable {
  readonly server: TestBroker;
  readonly broker: Broker;
  readonly log: GenerationLog;
  create(
    rules: readonly ModerationRule[],
    moderation?: Partial<EffectiveModeration>,
    tenant?: TenantId,
  ): Promise<Written>;
  /** One without moderation. */
  createUnmoderated(): Promise<Written>;
  read(ref: GenerationRef): Promise<KnownEvent[]>;
  /** Resolves with the log and its stored verdict as soon as they hold what is asked for. */
  until(
    ref: GenerationRef,
    holds: (events: KnownEvent[], verdict: Verdict | undefined) => boolean,
  ): Promise<{ events: KnownEvent[]; verdict: Verdict | undefined }>;
  /** A replica with connections of its own, until it or the world is closed. */
  startReplica(classifiers?: Classifiers, tracing?: Tracing): Promise<Moderation>;
}

export async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const options = { url: server.url, name: "test", shards: 1, replicas: 1, retentionMs: HOUR_MS };
  const broker = stack.use(await untilAnswered(() => openBroker({ ...options, onError: rethrow })));
  const log = createGenerationLog(broker);
  const rules = createRuleSetStore(log.publish, HOUR_MS);

  const create = async (moderation: EffectiveModeration | undefined, tenant = TENANT): Promise<Written> => {
    const ref = { tenant, generation: createGenerationId(randomBytes(17), 1) };
    const appender = new Appender({
      ...log,
      ref,
      head: headOf({ events: [], streamSeq: asStreamSeq(0) }),
      writer: createWriterName(),
      isFence: () => false,
    });
    const append = async (...drafts: EventDraft[]) => {
      for (const draft of drafts) {
        appender.append(draft);
        await appender.settled();
      }
    };
    await append({
      type: "generation.requested",
      tenant: ref.tenant,
      generation: ref.generation,
      created_at: new Date().toISOString(),
      request: { model: "sim", input: "hello" },
      policy: { ...tightenPolicy({}, {}), ...(moderation && { moderation }) },
    });
    return { ref, append };
  };
  // A leader has two seconds to answer, which are over soon on a busy machine: then it is asked again.
  const read = async (ref: GenerationRef) =>
    (await eventually(() => log.leader.readTail(ref, asStreamSeq(0)))).map(
      ({ payload }) => decodeEvent(payload) as KnownEvent,
    );

  const owned = stack.move();
  return {
    server,
    broker,
    log,
    create: async (wanted, moderation, tenant = TENANT) =>
      create({ ...GATE, ...moderation, rule_set: await rules.keep(tenant, wanted) }, tenant),
    createUnmoderated: () => create(undefined),
    read,
    until: (ref, holds) =>
      watch(broker, ref, async () => {
        // In this order the log holds every event that the verdict is about.
        const stored = await eventually(() => log.verdicts.readVerdictFromLeader(ref));
        const found = { verdict: stored?.verdict, events: await read(ref) };
        return holds(found.events, found.verdict) ? found : undefined;
      }),
    async startReplica(classifiers = new Map(), tracing = NO_TRACING) {
      const own = owned.use(await connectBroker({ url: server.url, name: "moderation" }));
      const logger = createLogger({ service: "moderation", level: "silent" });
      return owned.use(
        await startModeration({
          broker: own,
          shards: 1,
          classifiers,
          logger,
          metrics: createMetrics(),
          tracing,
        }),
      );
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Checks again whenever the log or its verdict has moved. */
async function watch<T>(broker: Broker, ref: GenerationRef, look: () => Promise<T | undefined>): Promise<T> {
  let moved = Promise.withResolvers<void>();
  const move = () => moved.resolve();
  const live = subscribeLive(broker.main, ref, { onEvent: move, onError: rethrow });
  const verdicts = broker.main.subscribe(`live.mod.*.${ref.tenant}.${ref.generation}`, { callback: move });
  try {
    await broker.main.flush();
    for (;;) {
      moved = Promise.withResolvers();
      const found = await look();
      if (found !== undefined) return found;
      await moved.promise;
    }
  } finally {
    live.unsubscribe();
    verdicts.unsubscribe();
  }
}

function rethrow(error: unknown): never {
  throw error;
}
