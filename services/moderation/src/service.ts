import { WorkShares } from "@reprise/async";
import { unixNow } from "@reprise/protocol";
import { type Broker, MODERATION_CONSUMER } from "@reprise/broker";
import {
  createGenerationLog,
  followShard,
  readShardBacklog,
  type ShardEvent,
  type ShardFollower,
} from "@reprise/stream";
import { createRuleSetCache, readRuleSet, watchRuleSets, prepareFolding } from "@reprise/moderation";
import {
  type BrokerWatch,
  createErrorLog,
  DependencyWatches,
  type Logger,
  type Metrics,
  observeConsumer,
  observeLog,
  WatchGroup,
} from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { watchClassifier } from "./classifiers/watch-classifier.ts";
import { createClassifyWindow } from "./judging/classify-window.ts";
import { decideExpiredReviews } from "./review-index/expired-reviews.ts";
import { ShardBacklogs } from "./judging/shard-backlogs.ts";
import { ShardLag } from "./judging/shard-lag.ts";
import { ShardModerator } from "./judging/shard-moderator.ts";
import type { ModeratorContext } from "./judging/moderator-context.ts";
import type { Classifiers } from "./classifiers/classifiers-file.ts";

export { type Classifiers, loadClassifiers } from "./classifiers/classifiers-file.ts";

export interface ModerationOptions {
  broker: Broker;
  /** Told when RULES can't be followed. */
  brokerWatch?: Pick<BrokerWatch, "onStale">;
  /** The dependencies of this service: a failure that the absence of one explains is not logged. Default: its own dependencies. */
  watches?: DependencyWatches;
  /** Number of streams of logs. */
  shards: number;
  classifiers: Classifiers;
  logger: Logger;
  metrics: Metrics;
  /** Default: none. */
  tracing?: Tracing;
}

export interface Moderation extends AsyncDisposable {
  /** Why it can't judge now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Uses these classifiers from now on. */
  reload(classifiers: Classifiers): Promise<void>;
  /** Stores what was judged, and closes. */
  close(): Promise<void>;
}

/**
 * The share of each tenant: some fifth of a core (a step takes 15 ns or so), in slices of about a millisecond. A character takes some 45 steps
 * with the built-in sets, so that is 300,000 characters a second.
 */
const SHARES = { stepsPerSecond: 15_000_000, burst: 750_000, slice: 75_000 };
/** Interval at which verdicts are stored and events acknowledged, unless a verdict is urgent. */
const SWEEP_MS = 250;
/** Rules are stored by another server's clock than logs. An event that comes too early costs one lookup. */
const CLOCKS_DIFFER_MS = 60_000;
const REVIEWS_EVERY_MS = 1_000;

/** Starts to judge the generations of all shards. The broker's streams must exist. */
export async function startModeration(options: ModerationOptions): Promise<Moderation> {
  const { broker, brokerWatch, shards, logger, metrics } = options;
  const { watches = new DependencyWatches({ service: "moderation", logger, metrics }) } = options;
  const watched = new WatchGroup(watches, (classifier) => ({
    name: `classifier:${classifier}`,
    gone: "a classifier does not answer; what it is asked about stays unjudged",
    back: "a classifier answers again",
    fields: { classifier },
    reports: "each",
  }));
  const watchAll = (all: Classifiers): Classifiers => {
    watched.keep(all.keys());
    return new Map(
      [...all].map(([name, one]) => [name, watchClassifier(one, { watch: watched.of(name), metrics })]),
    );
  };
  let classifiers = watchAll(options.classifiers);
  const onError = createErrorLog({
    logger,
    waits: "moderation waits",
    failed: "moderation has failed",
    watches,
    metrics,
  });
  const log = createGenerationLog(broker, { observer: observeLog(metrics, "moderation") });
  const decisions = metrics.counter("reprise_moderation_decisions_total");
  let judgedEvents = 0;
  metrics.observe("reprise_moderation_events_total", () => judgedEvents);
  prepareFolding();
  const shares = new WorkShares(SHARES);
  const context: ModeratorContext = {
    connection: broker.main,
    log,
    shares,
    readRules: createRuleSetCache({ read: (tenant, id) => readRuleSet(broker.main, tenant, id), shares }),
    classify: createClassifyWindow(() => classifiers),
    tracing: options.tracing ?? NO_TRACING,
    onDecided: (type) => decisions.inc({ type }),
    onError,
  };
  const begun: Promise<void>[] = [];
  const followed: { judging: ShardModerator; follower: ShardFollower; lag: ShardLag }[] = [];
  const sum = (of: (judging: ShardModerator) => number) =>
    followed.reduce((all, { judging }) => all + of(judging), 0);
  metrics.observe("reprise_moderation_generations", () => sum(({ size }) => size));
  metrics.observe("reprise_moderation_held_characters", () => sum(({ pendingLength }) => pendingLength));

  const follow = async (shard: number, rulesTime: Date) => {
    const startTime = new Date(rulesTime.getTime() - CLOCKS_DIFFER_MS);
    const judging = new ShardModerator(context);
    const lag = new ShardLag();
    const onEvents = (events: readonly ShardEvent[]) => {
      lag.read(events);
      judgedEvents += judging.take(events);
    };
    const follower = await followShard({
      broker,
      shard,
      name: MODERATION_CONSUMER,
      startTime,
      onEvents,
      onError,
    });
    followed.push({ judging, follower, lag });
  };
  // While no generation asks for moderation no log is read at all.
  const onFirst = (startTime: Date) => {
    for (let shard = 0; shard < shards; shard++) begun.push(follow(shard, startTime).catch(onError));
  };
  const watch = watchRuleSets(broker.main, onFirst, brokerWatch?.onStale);

  let sweeping: Promise<void> | undefined;
  const sweepAll = async () => {
    try {
      for (const { judging, follower } of followed) {
        await judging.sweep(performance.now());
        follower.ack(judging.settledStreamSeq);
      }
    } catch (error) {
      onError(error);
    }
  };
  const sweep = () => (sweeping ??= sweepAll().finally(() => (sweeping = undefined)));
  const settleLag = () => {
    for (const { judging, lag } of followed) lag.settle(judging.settledStreamSeq);
  };
  const backlogs = new ShardBacklogs({
    shards: () => followed.length,
    read: (shard) => readShardBacklog(broker.reads, shard, MODERATION_CONSUMER),
    onError,
  });
  observeConsumer(metrics, MODERATION_CONSUMER, {
    ageMs() {
      settleLag();
      return Math.max(0, ...followed.map(({ lag }) => lag.ageMs(unixNow())));
    },
    events: () => backlogs.total,
  });
  const sweeper = setInterval(() => {
    void sweep();
    settleLag();
  }, SWEEP_MS);
  let deciding = false;
  const reviews = setInterval(() => {
    if (followed.length === 0 || deciding) return;
    deciding = true;
    void decideExpiredReviews(context, unixNow())
      .catch(onError)
      .finally(() => (deciding = false));
  }, REVIEWS_EVERY_MS);

  const close = async () => {
    backlogs[Symbol.dispose]();
    clearInterval(reviews);
    clearInterval(sweeper);
    watch.stop();
    await Promise.all(begun);
    await Promise.all(followed.map(({ follower }) => follower.stop()));
    // A sweep that was begun before may have run before the last judgement.
    await sweeping;
    await sweep();
    await Promise.all(followed.map(({ follower }) => follower.close()));
    for (const { judging } of followed) judging.close();
    await Promise.all([...classifiers.values()].map((one) => one.close()));
  };
  return {
    notReadyBecause: () => (log.connected ? [] : ["not connected to NATS"]),
    async reload(next) {
      const before = classifiers;
      classifiers = watchAll(next);
      await Promise.all([...before.values()].map((one) => one.close()));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
