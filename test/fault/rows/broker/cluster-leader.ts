import { setTimeout as delay } from "node:timers/promises";
import { streamOf } from "@reprise/protocol";
import type { ClusterNode, TestCluster } from "@reprise/testkit";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

const POLL_MS = 50;
/** Longer than an election takes, 4 to 9 s, so that a leader that was stopped wakes up to find another in its place. */
const ABSENCE_MS = { shortest: 1_000, longest: 10_000 };

function clusterLeader(
  name: string,
  what: string,
  fault: (leader: ClusterNode, trial: Trial) => Promise<void>,
): FaultRow {
  return {
    name,
    about: `the leader of a shard's stream, one of three nats-servers, ${what}; until the end of the longest silence of that shard's readers`,
    proof: "a generation of that shard ends after the leader was hit",
    world: { broker: "cluster" },
    shortTrials: 1,
    async run(trial) {
      const { cluster } = trial.world.broker;
      const { generations, readers } = await startLoad(trial, { tokens: 150, tokensPerSecond: 50 });
      const stream = streamOf(generations[0]!.ref.generation);
      const led = readers.filter(({ record }) => streamOf(record.generation.ref.generation) === stream);
      const leader = await untilLed(cluster, stream);
      const since = performance.now();
      await fault(leader, trial);
      await trial.ended();
      hitRunning(
        trial,
        led.map(({ record }) => record.generation),
        since,
      );
      reportSilences(trial, led, since);
    },
  };
}

/** On a busy machine a leader's word may come late, and another election is held. */
export async function untilLed(cluster: TestCluster, stream: string): Promise<ClusterNode> {
  for (;;) {
    const leader = await cluster.leaderOf(stream);
    if (leader) return leader;
    await delay(POLL_MS);
  }
}

const absence = ({ random }: Trial) => delay(random.integer(ABSENCE_MS.shortest, ABSENCE_MS.longest));

export const clusterLeaderSigkill = clusterLeader(
  "cluster-leader-sigkill",
  "is killed and back after 1 to 10 s",
  async (leader, trial) => {
    await leader.kill("SIGKILL");
    await absence(trial);
    await leader.restart();
  },
);

export const clusterLeaderSigstop = clusterLeader(
  "cluster-leader-sigstop",
  "is stopped for 1 to 10 s",
  async (leader, trial) => {
    await leader.kill("SIGSTOP");
    await absence(trial);
    await leader.kill("SIGCONT");
  },
);

export const clusterLeaderRestart = clusterLeader(
  "cluster-leader-restart",
  "is restarted in order",
  (leader) => leader.restart(),
);
