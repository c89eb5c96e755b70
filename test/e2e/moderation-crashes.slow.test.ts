import { createClient } from "@reprise/client";
import { type ModerationPolicy, peekSeq, Transcript } from "@reprise/protocol";
import {
  openSseReader,
  type SeededRandom,
  type ServiceProcess,
  watchCleared,
  withSeed,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";
import {
  CARD,
  cutIntoChunks,
  hasEnded,
  MASK,
  saying,
  TENANT,
  untilJudged,
  wholly,
} from "./testing/moderated.ts";

const SEED = 20_261_121;
const SECRETS = [CARD, "project falcon"];
const RULES = ["cards" as const, { terms: ["project falcon"], match: "anywhere" as const }];
const CLEAN = "So it was said, and written down for all. ";
const SENTENCES = 7;
/** All readers together are shown some 1,000. */
const EVENTS_BETWEEN_KILLS = { least: 20, most: 300 };

/** Clean prose with a secret in each sentence. */
const storyOf = (random: SeededRandom, sentences: number) =>
  Array.from({ length: sentences }, () => `${CLEAN}${random.pick(SECRETS)} `).join("");
const masked = (story: string) => SECRETS.reduce((text, secret) => text.replaceAll(secret, MASK), story);

/** Counts what readers are shown, and tells when there is more of it. */
function countShown(over: AbortSignal) {
  let count = 0;
  let next = Promise.withResolvers<void>();
  over.addEventListener("abort", () => next.resolve());
  return {
    one() {
      count++;
      next.resolve();
      next = Promise.withResolvers();
    },
    /** Resolves when so many more were shown, or when it is over. */
    async more(events: number) {
      for (const goal = count + events; count < goal && !over.aborted;) await next.promise;
    },
  };
}

type Shown = ReturnType<typeof countShown>;

/** Whenever readers were shown some more events, as many as are drawn: kills one replica or both, and starts as many again. */
async function killAgainAndAgain(
  cluster: Cluster,
  first: readonly ServiceProcess[],
  { random, shown, over }: { random: SeededRandom; shown: Shown; over: AbortSignal },
): Promise<number> {
  let replicas = first;
  let kills = 0;
  for (;;) {
    await shown.more(random.integer(EVENTS_BETWEEN_KILLS.least, EVENTS_BETWEEN_KILLS.most));
    if (over.aborted) return kills;
    const victims = random.chance(0.5) ? replicas : [random.pick(replicas)];
    for (const victim of victims) victim.kill("SIGKILL");
    kills += victims.length;
    const stay = replicas.filter((replica) => !victims.includes(replica));
    replicas = [...stay, ...(await Promise.all(victims.map(() => cluster.startModeration())))];
  }
}

test("a gate shows nothing unjudged and no match while its judges are killed, and each match is withdrawn once", () =>
  withSeed(SEED, async (random) => {
    await using cluster = await startCluster();
    const [one, two, first, second] = await Promise.all([
      cluster.startDelivery(),
      cluster.startDelivery(),
      cluster.startModeration(),
      cluster.startModeration(),
      cluster.startWorker(),
    ]);
    const client = createClient({ url: one.url, apiKey: cluster.keys[TENANT]! });
    await using watch = await watchCleared(cluster.broker.main);
    const over = new AbortController();
    const shown = countShown(over.signal);
    const killed = killAgainAndAgain(cluster, [first, second], { random, shown, over: over.signal });

    const read = async (url: string, id: string) => {
      await using reader = await openSseReader(`${url}/v1/generations/${id}/events`, {
        headers: { authorization: `Bearer ${cluster.keys[TENANT]}` },
      });
      const got: string[] = [];
      for await (const { data } of reader) {
        watch.shown(id, peekSeq(Buffer.from(data)));
        shown.one();
        got.push(data);
      }
      return got;
    };
    const runs = Array.from({ length: 4 }, async () => {
      const story = storyOf(random, SENTENCES);
      const moderation = { mode: "gate" as const, rules: RULES };
      const request = saying(cutIntoChunks(story, random), moderation, 40);
      const { id } = await client.generations.create(request);
      const sdk = client.generations.stream(id).done();
      const frames = await Promise.all([one, two].map(({ url }) => read(url, id)));
      return { id, story, frames, sdk: await sdk };
    });
    const ended = await Promise.all(runs);
    over.abort();
    expect(await killed).toBeGreaterThan(0);

    for (const { id, story, frames, sdk } of ended) {
      const judged = await untilJudged(cluster, id);
      expect(judged.text).toBe(masked(story));
      expect(judged.decisions).toEqual(Array(SENTENCES).fill("moderation.redacted"));
      expect(judged.spans).toEqual(wholly(judged));
      // What readers saw while it ran is what those see who come later: no text that had to be withdrawn.
      expect(frames).toEqual([judged.shown, judged.shown]);
      expect(sdk).toMatchObject({ status: "completed", text: masked(story) });
    }
    expect(await watch.early()).toEqual([]);
  }));

test.each([
  ["observe", (lastSeq: number) => ({ judged: lastSeq, finding_count: 1 })],
  ["off", () => ({ judged: 0, finding_count: 0 })],
] as const)(
  "readers of mode %s notice nothing of moderation's death, and what it missed it judges when it is back",
  async (mode, reported) => {
    await using cluster = await startCluster();
    const [{ url }, moderation] = await Promise.all([
      cluster.startDelivery(),
      cluster.startModeration(),
      cluster.startWorker(),
    ]);
    const client = createClient({ url, apiKey: cluster.keys[TENANT]! });
    const run = (said: string, moderated: ModerationPolicy) =>
      client.generations.run(saying(said.match(/.{1,4}/g)!, { rules: RULES, ...moderated }));
    await run(CARD, { mode: "observe" }).done();
    const story = `${CLEAN}${CARD} ${CLEAN}`;
    const stream = run(story, { mode });
    const seen = new Transcript();
    for await (const event of stream) {
      seen.apply(event);
      if (event.seq === 5) moderation.kill("SIGKILL");
    }
    await moderation.exited;
    expect([seen.text, stream.status]).toEqual([story, "completed"]);

    await cluster.startModeration();
    const last = run(CARD, { mode: "observe" });
    await last.done();
    const log = await cluster.untilLog(TENANT, stream.id!, (events) => events.some(hasEnded));
    await untilJudged(cluster, mode === "observe" ? stream.id! : last.id!);
    expect(log.map(({ type }) => type).filter((type) => type.startsWith("moderation."))).toEqual([]);
    const report = await fetch(`${url}/v1/generations/${stream.id!}/moderation`, {
      headers: { authorization: `Bearer ${cluster.keys[TENANT]}` },
    });
    expect((await report.json()) as unknown).toMatchObject(reported(log.length - 1));
  },
);
