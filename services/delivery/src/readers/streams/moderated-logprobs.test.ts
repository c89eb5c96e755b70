import { asSeq, type EventDraft } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { everyView } from "../../testing/every-view.ts";
import { decide, halted, judge, moderatedBody, redacted } from "../../testing/moderation.ts";
import {
  append,
  authorization,
  completed,
  createGeneration,
  delta,
  openPlatform,
  started,
} from "../../testing/platform.ts";

const SECRET = "SECRET";
const NUMBER = -0.123456789;
/** Log probabilities from an engine, in the form that a worker stores for text that moderation may withdraw. */
const LIKELY = { token: SECRET, logprob: NUMBER, top: [{ token: `other ${SECRET}`, logprob: -1 }] };
const said = (likely: object): EventDraft =>
  ({ ...delta(SECRET), tokens: 1, logprobs: [likely] }) as EventDraft;

test.each(
  (["gate", "retract"] as const).flatMap((mode) =>
    [redacted(3), halted(3)].flatMap((decision) =>
      [{ logprob: NUMBER }, LIKELY].map((likely) => ({ mode, decision, likely })),
    ),
  ),
)(
  "$mode: of text that $decision.type has withdrawn no reader is told how likely it was: $likely",
  async ({ mode, decision, likely }) => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode }) });
    await append(worker, started(), delta("a "), said(likely));
    await decide(platform, ref, decision);
    await decide(platform, ref, completed());
    await judge(platform, ref, 5, { decided: asSeq(4) });
    const views = await everyView(platform, path);
    expect(views.filter((view) => view.includes(SECRET) || view.includes(`${NUMBER}`))).toEqual([]);
  },
);

test.each(["off", "observe", "retract"] as const)(
  "%s: readers are shown the log probabilities of text that is kept",
  async (mode) => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform, { body: moderatedBody({ mode }) });
    await append(worker, started(), said(LIKELY), completed());
    await judge(platform, ref, 3);
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    expect(await reader.ended).toBe("clean");
    expect(JSON.parse(reader.frames[1]!.data)).toEqual({
      seq: 2,
      type: "output.delta",
      text: SECRET,
      tokens: 1,
      logprobs: [LIKELY],
    });
  },
);
