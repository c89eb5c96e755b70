import { asSeq, type EventDraft } from "@reprise/protocol";
import { openSseReader, SAID_BESIDE } from "@reprise/testkit";
import { expect, test } from "vitest";
import { everyView } from "../../testing/every-view.ts";
import { decide, halted, judge, moderatedBody, redacted } from "../../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  started,
} from "../../testing/platform.ts";

const SECRET = "SECRET";
const REVIEW = "rev_4";
type Channel = keyof typeof SAID_BESIDE;
const CHANNELS = Object.keys(SAID_BESIDE) as Channel[];
const SEALED: EventDraft = { type: "reasoning.sealed", encrypted: "SEALED" };

const withdrawing = {
  redact: (channel: Channel): EventDraft[] => [{ ...redacted(3), channel } as EventDraft],
  halt: (): EventDraft[] => [halted(3)],
  review: (channel: Channel): EventDraft[] => [
    {
      type: "moderation.review",
      review_id: REVIEW,
      from_seq: asSeq(3),
      to_seq: asSeq(3),
      rule: "terms",
      category: "terms",
      channel,
      expires_at: "2099-01-01T00:00:00.000Z",
    },
    { type: "moderation.reviewed", review_id: REVIEW, decision: "edit", reviewer: "ann", replacement: "" },
    { ...redacted(3, 3, ""), channel } as EventDraft,
  ],
};
const CASES = CHANNELS.flatMap((channel) =>
  (["redact", "halt", "review"] as const).map((how) => [channel, how] as const),
);

test.each(CASES)(
  "gate: what is withdrawn of %s by %s reaches no reader, at any time, by any call",
  async (channel, how) => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode: "gate" }) });
    await append(worker, started(), delta("clean "), SAID_BESIDE[channel](SECRET));
    await judge(platform, ref, 3, { cleared: asSeq(2) });
    const url = `${platform.node.url}${path}`;
    await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
    expect([(await reader.nextFrame())?.id, (await reader.nextFrame())?.id]).toEqual(["1-1", "1-2"]);
    expect((await call(url)).text).not.toContain(SECRET);
    const decisions = withdrawing[how](channel);
    for (const decision of decisions) await decide(platform, ref, decision);
    await decide(platform, ref, completed());
    const last = 3 + decisions.length + 1;
    await judge(platform, ref, last, { decided: asSeq(last - 1) });
    expect(await reader.ended).toBe("clean");
    expect(reader.bytes.toString()).not.toContain(SECRET);
    const views = await everyView(platform, path);
    expect(views.filter((view) => view.includes(SECRET))).toEqual([]);
  },
);

test.each(CASES)(
  "retract: what is withdrawn of %s by %s reaches no later reader, with any cursor, by any call",
  async (channel, how) => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, {
      body: moderatedBody({ mode: "retract" }),
    });
    await append(worker, started(), delta("a "), SAID_BESIDE[channel](SECRET));
    const url = `${platform.node.url}${path}/events`;
    await using reader = await openSseReader(url, { headers: authorization() });
    for (let seen = 1; seen <= 3; seen++) await reader.nextFrame();
    expect(reader.bytes.toString()).toContain(SECRET);
    const decisions = withdrawing[how](channel);
    for (const decision of decisions) await decide(platform, ref, decision);
    await decide(platform, ref, completed());
    const last = 3 + decisions.length + 1;
    await judge(platform, ref, last, { decided: asSeq(last - 1) });
    expect(await reader.ended).toBe("clean");
    const views = await everyView(platform, path);
    expect(views.filter((view) => view.includes(SECRET))).toEqual([]);
  },
);

test.each(["off", "observe"] as const)(
  "%s: readers are shown all of it as it comes, and the generation tells it",
  async (mode) => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform, { body: moderatedBody({ mode }) });
    const said = CHANNELS.map((channel) => SAID_BESIDE[channel](`${channel}!`));
    await append(worker, started(), delta("a"), ...said, SEALED, completed());
    const url = `${platform.node.url}${path}`;
    await using reader = await openSseReader(`${url}/events`, { headers: authorization() });
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ data }) => (JSON.parse(data) as EventDraft).type).slice(2, -1)).toEqual(
      [...said, SEALED].map(({ type }) => type),
    );
    expect((await call(url)).json).toMatchObject({
      text: "a",
      refusal: "refusal!",
      annotations: [
        { kind: "url", url: "https://a/annotation!", title: "annotation!", quote: "annotation!" },
      ],
      blobs: [{ kind: "image", blob: "blob!" }],
    });
  },
);

test("a halt takes what was sealed, before it and after it", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform, {
    body: moderatedBody({ mode: "retract" }),
  });
  await append(worker, started(), delta("a"), SEALED);
  await decide(platform, ref, halted(2));
  for (const draft of [SEALED, completed()]) await decide(platform, ref, draft);
  await judge(platform, ref, 6, { decided: asSeq(4) });
  const views = await everyView(platform, path);
  expect(views.filter((view) => view.includes("SEALED"))).toEqual([]);
});

test("a key that may not read is told nothing of them", async () => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform);
  const said = CHANNELS.map((channel) => SAID_BESIDE[channel](SECRET));
  await append(worker, started(), ...said, completed());
  const answer = await call(`${platform.node.url}${path}/cancel`, {
    method: "POST",
    key: KEYS.acmeCanceller,
  });
  expect(answer.json).toMatchObject({ status: "completed" });
  expect(answer.text).not.toContain(SECRET);
});
