import { startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { DASHBOARD_EXPRESSIONS } from "./testing/dashboards.ts";
import { drive } from "./testing/drive.ts";
import {
  breakArchive,
  breakRows,
  completeGeneration,
  delayFirstTokens,
  exhaustBudget,
  expireLogs,
  failGenerations,
  holdGeneration,
  leaveUnrecorded,
  forgeMessage,
  forkHistory,
  loseBeginning,
  loseVerdicts,
  pauseBroker,
  pauseModeration,
  refuseResumes,
} from "./testing/faults.ts";
import { startObservedPlatform } from "./testing/observed-platform.ts";
import { startPrometheus } from "./testing/prometheus-server.ts";

/** An hour is a minute. What this shows is that the rules find real faults; how long Prometheus waits is what promtool's unit tests show. */
const SCALE = 1 / 60;

const ALERTS = Object.values(ruleFiles())
  .flat()
  .flatMap(({ rules }) => rules)
  .flatMap((rule) => ("alert" in rule ? [rule.alert] : []));

/** Their faults are not made here: promtool's unit tests alone show when they fire. The last one may, on a machine with other work. */
const NOT_INJECTED = [
  "RepriseReplicasMissing",
  "RepriseBrokerStoreFull",
  "RepriseQueueOld",
  "RepriseWitnessLag",
  "RepriseCertificateExpires",
  "RepriseEventLoopLag",
];

test("on a platform in health each panel has data and no alert fires, and each alert fires when its fault is there", async () => {
  await using redis = await startRedis();
  await using platform = await startObservedPlatform({ delivery: { REPRISE_REDIS_URL: redis.url } });
  await using prometheus = await startPrometheus({ services: platform.services, scale: SCALE });
  const fired = new Set<string>(NOT_INJECTED);
  const namesOfFiring = async () => [
    ...new Set((await prometheus.firing()).map(({ labels }) => labels["alertname"] ?? "")),
  ];
  /** @param labels that it fires with, among others */
  const fires = async (alert: string, labels: Readonly<Record<string, string>> = {}) => {
    const isFiring = async () =>
      (await prometheus.firing()).some(({ labels: found }) =>
        Object.entries({ ...labels, alertname: alert }).every(([name, value]) => found[name] === value),
      );
    await expect.poll(isFiring, { timeout: 280_000, interval: 500, message: alert }).toBe(true);
    fired.add(alert);
  };

  await drive(platform);
  const queries = DASHBOARD_EXPRESSIONS.map((expr) => expr.replaceAll("$__rate_interval", "5m"));
  const withoutData = async () => {
    const counts = await Promise.all(queries.map((expr) => prometheus.count(expr)));
    return queries.filter((_, index) => counts[index] === 0);
  };
  await expect.poll(withoutData, { interval: 500 }).toEqual([]);
  expect(await namesOfFiring()).toEqual([]);

  const archiveFails = async () => {
    const mend = await breakArchive(platform);
    await completeGeneration(platform);
    await Promise.all([fires("RepriseDependencyAway"), fires("RepriseArchiveLag")]);
    await completeGeneration(platform);
    await expireLogs(platform);
    await mend();
    await fires("RepriseAuditLost");
  };
  const generationsFail = async () => {
    await failGenerations(platform);
    await fires("RepriseCompletion");
  };
  const firstTokensAreLate = async () => {
    await delayFirstTokens(platform);
    await Promise.all([fires("RepriseFirstTokenP95"), fires("RepriseFirstTokenP99")]);
  };
  const messageIsForged = async () => {
    await forgeMessage(platform);
    await fires("RepriseMalformedMessages");
  };
  const historyIsForked = async () => {
    await forkHistory(platform);
    await fires("RepriseWitnessInconsistent");
  };
  const moderationFails = async () => {
    const resume = await pauseModeration(platform);
    await fires("RepriseTargetDown");
    resume();
    await loseVerdicts(platform);
    await fires("RepriseConsumerLag", { consumer: "moderation" });
  };
  const budgetIsUsedUpThenRedisAway = async () => {
    await exhaustBudget(platform);
    await fires("RepriseBudgetExhausted");
    await redis.stop();
    await fires("RepriseLimitsLocal");
  };
  const usageIsLost = async () => {
    const mend = await breakRows(platform);
    // Two batches are read and wait in memory: only what comes after those can expire.
    let hasFired = false;
    const generate = async () => {
      while (!hasFired) await completeGeneration(platform);
    };
    const expires = Promise.all([
      fires("RepriseUsageExpiring"),
      fires("RepriseConsumerLag", { consumer: "analytics" }),
    ]).finally(() => (hasFired = true));
    await Promise.all([generate(), expires]);
    await expireLogs(platform);
    await mend();
    await fires("RepriseUsageLost");
  };
  const brokerHangs = async () => {
    const id = await holdGeneration(platform);
    const resume = await pauseBroker(platform);
    await Promise.all([fires("RepriseBrokerAway"), leaveUnrecorded(platform, id)]);
    await fires("RepriseMarksLost");
    await resume();
  };
  const lost = await loseBeginning(platform);
  await refuseResumes(platform, lost, 1);
  // What a counter has when it is first scraped is no growth.
  await expect.poll(() => prometheus.count('reprise_resumes_total{result="gone"}')).toBe(1);
  await refuseResumes(platform, lost, 150);
  await fires("RepriseResume");
  await Promise.all([
    archiveFails(),
    generationsFail(),
    firstTokensAreLate(),
    messageIsForged(),
    historyIsForked(),
    moderationFails(),
    budgetIsUsedUpThenRedisAway(),
  ]);
  await usageIsLost();
  await brokerHangs();

  expect([...fired].toSorted()).toEqual([...new Set(ALERTS)].toSorted());
}, 600_000);
