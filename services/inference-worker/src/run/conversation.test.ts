import { conversations } from "@reprise/log";
import {
  asSeq,
  type EventDraft,
  type GenerationRef,
  parseConversationId,
  promptBehind,
} from "@reprise/protocol";
import { completed, moderatedPolicy } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { EngineRequest } from "../engines/engine.ts";
import { delta, started } from "../testing/drafts.ts";
import { createFakeEngine } from "../testing/fake-engine.ts";
import { openWorld, type World } from "../testing/world.ts";

/* What a turn's engine is given of the turns before it. */

const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
const policy = moderatedPolicy({ mode: "retract" });
const WITHDRAWN: EventDraft = {
  type: "moderation.redacted",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  replacement: "[removed]",
  rule: "r",
  category: "c",
};

/** A turn that has ended, and one that goes on behind it and waits for a worker. */
async function submitTwo(world: World): Promise<[first: GenerationRef, second: GenerationRef]> {
  const request = { input: "A secret?", conversation };
  const history = [started(1), delta("It is 42."), completed()];
  const first = await world.submit({ request, policy, history });
  const turn = conversations.foldTurn((await world.log.reader.readLog(first)).events);
  const prompt = promptBehind(turn!);
  const second = await world.submit({
    request: { input: "Again?", conversation },
    prompt,
    needs: ["history"],
  });
  return [first, second];
}

const asked = (answer: string) => [
  { role: "user", content: "A secret?" },
  { role: "assistant", content: answer },
  { role: "user", content: "Again?" },
];

/** Keeps what it is asked, calls a tool where it is asked for the first time, and answers. */
function createListener({ asksTool }: { readonly asksTool: boolean }) {
  const inputs: EngineRequest["input"][] = [];
  const engine = createFakeEngine(async function* (request) {
    inputs.push(request.input);
    if (asksTool && inputs.length === 1)
      yield { type: "tool_call", callId: "c1", name: "f", arguments: "{}" };
    else yield { type: "text", text: "No." };
    yield { type: "finish", reason: asksTool && inputs.length === 1 ? "tool_calls" : "stop" };
  });
  return { engine, inputs };
}

test("an engine is given what was said before, as it stands", async () => {
  await using world = await openWorld();
  const [, second] = await submitTwo(world);
  const { engine, inputs } = createListener({ asksTool: false });
  expect(await world.run(second, engine)).toBe("completed");
  expect(inputs).toEqual([asked("It is 42.")]);
});

test("what was withdrawn since a turn was created, or while it waits for a tool, is given to no engine", async () => {
  await using world = await openWorld();
  const [first, second] = await submitTwo(world);
  const { engine, inputs } = createListener({ asksTool: true });
  await using _ = await world.startWorker(engine);
  await world.until(second, (events) => events.some(({ type }) => type === "tool.call"));
  await world.append(first, WITHDRAWN);
  await world.append(second, { type: "tool.result", call_id: "c1", output: 1 });
  await world.untilEnded(second);
  const third = await world.submit({
    request: { input: "Again?", conversation },
    prompt: [
      {
        generation: first.generation,
        seq: asSeq(3),
        moderated: true,
        items: [
          { role: "user", content: "A secret?" },
          { role: "assistant", content: "It is 42." },
        ],
      },
    ],
  });
  await world.untilEnded(third);
  expect(inputs).toEqual([asked("It is 42."), asked("[removed]"), asked("[removed]")]);
});
