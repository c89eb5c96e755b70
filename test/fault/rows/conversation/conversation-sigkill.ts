import { setTimeout as delay } from "node:timers/promises";
import { CONVERSATIONS_STREAM } from "@reprise/protocol";
import type { Reader } from "../../readers/reader-record.ts";
import { hitRunning } from "../../trial/acked.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { WorldOptions } from "../../world/world-options.ts";
import { untilLed } from "../broker/cluster-leader.ts";
import { busiestNode } from "../delivery/delivery-signals.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "../worker/takeover.ts";
import { judgeConversations } from "./judge-conversation.ts";
import { addTurn, openConversation, type TestedConversation } from "./tested-conversation.ts";

const CONVERSATIONS = 3;
const TURNS = 4;
/** A create takes some ten milliseconds: the kill comes before it, in its middle, or after it. */
const LONGEST_BEFORE_KILL_MS = 40;
const LONGEST_ABSENCE_MS = 1_500;
/** Of a turn's 60. */
const FEW_EVENTS = 3;
const MOST_EVENTS = 20;

/** Kills something and starts it again. */
type Strike = (trial: Trial, readers: readonly Reader[]) => Promise<void>;

/**
 * The conversations continue turn by turn, all at once. Of the turns after the first, one is hit while its text comes, and one while it is
 * asked for, so that what is hit may have claimed it, or not, and stored it, or not.
 */
function conversationSigkill(name: string, what: string, strike: Strike, world: WorldOptions = {}): FaultRow {
  return {
    name,
    about: `${what} while the turns of conversations are asked for, and again while they run: each prompt is the whole conversation so far, byte for byte, and no turn is lost or doubled; until the end of each reader's longest silence`,
    proof: "a turn that runs or is asked for at the kill ends after it",
    world: { upstream: true, ...world },
    shortTrials: 1,
    async run(trial) {
      const { random } = trial;
      const opening = Array.from({ length: CONVERSATIONS }, (_, index) => openConversation(trial, index));
      const conversations = await Promise.all(opening);
      const between = random.integer(1, TURNS - 1);
      const within = random.pick([1, 2, 3].filter((turn) => turn !== between));
      for (let turn = 0; turn < TURNS; turn++) {
        if (turn === between) await goOnBroken(trial, conversations, strike);
        else if (turn === within) await goOnHit(trial, conversations, strike);
        else await goOn(trial, conversations);
        await trial.ended();
      }
      await judgeConversations(trial, conversations);
    },
  };
}

async function goOn(trial: Trial, conversations: readonly TestedConversation[]): Promise<Reader[]> {
  const adding = conversations.map(async (conversation) => {
    const generation = await addTurn(trial, conversation);
    return [trial.read(generation, "raw"), trial.read(generation, "sdk")];
  });
  return (await Promise.all(adding)).flat();
}

/** The kill comes between two turns, as the next ones are asked for. */
async function goOnBroken(
  trial: Trial,
  conversations: readonly TestedConversation[],
  strike: Strike,
): Promise<void> {
  const killing = (async () => {
    await delay(trial.random.integer(0, LONGEST_BEFORE_KILL_MS));
    const killedAt = performance.now();
    await strike(trial, []);
    return killedAt;
  })();
  const [killedAt, readers] = await Promise.all([killing, goOn(trial, conversations)]);
  await report(trial, readers, killedAt);
}

/** The kill comes within turns. */
async function goOnHit(
  trial: Trial,
  conversations: readonly TestedConversation[],
  strike: Strike,
): Promise<void> {
  const readers = await goOn(trial, conversations);
  const enough = trial.random.integer(FEW_EVENTS, MOST_EVENTS);
  await readers[0]!.record.until(({ seen }) => seen.length >= enough);
  const killedAt = performance.now();
  await strike(trial, readers);
  await report(trial, readers, killedAt);
}

async function report(trial: Trial, readers: readonly Reader[], killedAt: number): Promise<void> {
  await trial.ended();
  hitRunning(
    trial,
    readers.map(({ record }) => record.generation),
    killedAt,
  );
  reportSilences(trial, readers, killedAt);
}

export const conversationWorkerSigkill = conversationSigkill(
  "conversation-worker-sigkill",
  "a worker is killed",
  async ({ random, world }, readers) => {
    const victim = readers.length > 0 ? findBusiest(world, readers).busiest : random.pick(world.workers);
    await victim.kill();
    await victim.start();
  },
);

export const conversationDeliverySigkill = conversationSigkill(
  "conversation-delivery-sigkill",
  "a delivery node is killed",
  async (trial, readers) => {
    const { slot } = trial.world.deliveries[busiestNode(trial, readers)]!;
    await slot.kill();
    await slot.start();
  },
);

export const conversationBrokerSigkill = conversationSigkill(
  "conversation-broker-sigkill",
  "nats-server is killed, and back within 1.5 s,",
  async ({ random, world }) => {
    const { server } = world.broker;
    await server.kill("SIGKILL");
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
    await server.restart();
  },
);

export const conversationLeaderSigkill = conversationSigkill(
  "conversation-leader-sigkill",
  "the leader of the stream of conversations, one of three nats-servers, is killed, and back within 1.5 s,",
  async ({ random, world }) => {
    const leader = await untilLed(world.broker.cluster, CONVERSATIONS_STREAM);
    await leader.kill("SIGKILL");
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
    await leader.restart();
  },
  { broker: "cluster" },
);
