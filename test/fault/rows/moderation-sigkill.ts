import { setTimeout as delay } from "node:timers/promises";
import { type KnownEvent, type Policy, decodeEvent } from "@reprise/protocol";
import { watchCleared, untilAnswered } from "@reprise/testkit";
import { hitRunning } from "../trial/acked.ts";
import { startLoad } from "../trial/load.ts";
import { reportSilences } from "../trial/recovery.ts";
import type { Reader } from "../readers/reader-record.ts";
import type { TestedGeneration } from "../trial/tested-generation.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";

const SPREAD = 60;
const LONGEST_ABSENCE_MS = 500;
const POLL_MS = 50;

/** Words that the simulator says often, each with the word after it: a match reaches over several tokens. */
const SOUGHT = "(?:copper|shadow|window|garden|market|letter) [a-z]+";
const POLICY: Policy = {
  moderation: {
    mode: "gate",
    rules: [{ pattern: SOUGHT }],
    // Readers are to wait: what they get when moderation is unavailable is tested elsewhere.
    on_unavailable: { after_ms: 60_000 },
  },
};
const masked = (text: string) => text.replaceAll(new RegExp(SOUGHT, "gi"), "[redacted]");
const LOAD = { tokens: 150, tokensPerSecond: 60, policy: POLICY, shown: masked };

export const moderationSigkill: FaultRow = {
  name: "moderation-sigkill",
  about:
    "one of two who judge, or both, are killed under a gate, and back within 0.5 s; until the end of each reader's longest silence",
  proof: "a generation is under way when they are killed",
  world: { moderations: 2 },
  shortTrials: 1,
  async run(trial) {
    const { random, world } = trial;
    await using watch = await watchCleared(world.connection);
    const onReader = ({ record }: Reader): void => {
      record.onShown = (seq) => watch.shown(record.generation.id, seq);
    };
    const { readers } = await startLoad(trial, { ...LOAD, onReader }, SPREAD);
    const victims = random.chance(0.5) ? world.moderations : [random.pick(world.moderations)];
    const killedAt = performance.now();
    await Promise.all(victims.map((victim) => victim.kill()));
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
    await Promise.all(victims.map((victim) => victim.start()));
    await trial.ended();
    hitRunning(trial, trial.generations, killedAt);
    reportSilences(trial, readers, killedAt);

    for (const generation of trial.generations) await judgeDecisions(trial, generation);
    for (const { generation, seq, cleared } of await watch.early())
      trial.blame("unjudged", `${generation}: a reader was shown ${seq} when ${cleared} was cleared`);
  },
};

/** Waits until the whole log is judged: each event once, by one set of rules, and nothing decided twice. */
async function judgeDecisions(trial: Trial, { id, ref, undisturbed }: TestedGeneration): Promise<void> {
  for (;;) {
    const stored = await untilAnswered(() => trial.world.log.verdicts.readVerdictFromLeader(ref));
    const payloads = await trial.world.readLog(ref);
    const last = payloads.length - 1;
    if (stored?.verdict.judged !== last) {
      await delay(POLL_MS);
      continue;
    }
    const { spans = [] } = stored.verdict;
    const [span] = spans;
    const isWhole = spans.length === 1 && span?.from_seq === 1 && span.to_seq === last;
    if (!isWhole) trial.blame("unjudged", `${id}: of ${last} events ${JSON.stringify(spans)} were judged`);
    const decisions = payloads
      .map((payload) => decodeEvent(payload) as KnownEvent)
      .flatMap((event) =>
        event.type === "moderation.redacted"
          ? [`${event.from_seq}-${event.to_seq} ${JSON.stringify(event.replacement)}`]
          : [],
      );
    // An event may hold several matches, each with a decision of its own about the same range.
    const matches = undisturbed.tokens.join("").match(new RegExp(SOUGHT, "gi")) ?? [];
    if (new Set(decisions).size < decisions.length || decisions.length > matches.length)
      trial.blame("decisions", `${id}: withdrawn are ${decisions.join(", ")}`);
    return;
  }
}
