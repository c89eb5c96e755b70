import * as conversations from "@reprise/conversations";
import { type GenerationLog } from "@reprise/stream";
import {
  asSeq,
  type GenerationRef,
  parseConversationId,
  promptBehind,
  RepriseError,
} from "@reprise/protocol";
import { completed, moderatedPolicy, redacted } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import type { EngineRequest } from "../engines/engine.ts";
import { EngineError } from "../engines/engine-error.ts";
import { delta, started } from "../testing/drafts.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld, type World } from "../testing/world.ts";

/* What a turn's engine is given of the turns before it. */

const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
const policy = moderatedPolicy({ mode: "retract" });
const WITHDRAWN = redacted(2, 2, "[removed]");

/** A turn that has ended, and one that follows it and waits for a worker. */
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

test("what is withdrawn while an engine is busy is not given to it when it is asked again", async () => {
  await using world = await openWorld();
  const [first, second] = await submitTwo(world);
  const inputs: EngineRequest["input"][] = [];
  const engine = createFakeEngine(async function* (request) {
    inputs.push(request.input);
    if (inputs.length === 1) {
      await world.append(first, WITHDRAWN);
      throw new EngineError("engine_unavailable", "The engine answered 503.", { retry: "busy" });
    }
    yield { type: "text", text: "No." };
    yield { type: "finish", reason: "stop" };
  });
  expect(await world.run(second, engine)).toBe("completed");
  expect(inputs).toEqual([asked("It is 42."), asked("[removed]")]);
});

/** A log in which the leader of one generation does not answer the first `times` requests. */
function withoutLeader({ log }: World, { generation }: GenerationRef, times: number): GenerationLog {
  let left = times;
  return {
    ...log,
    leader: {
      ...log.leader,
      async readLast(ref) {
        if (ref.generation === generation && left-- > 0)
          throw new RepriseError("broker_unavailable", "The leader does not answer.");
        return log.leader.readLast(ref);
      },
    },
  };
}

test("a job whose earlier turns can't be looked at for too long is given back, and no worker counts as lost", async () => {
  await using world = await openWorld();
  const [first, second] = await submitTwo(world);
  const { engine, inputs } = createListener({ asksTool: false });
  const released = vi.fn<() => void>();
  const log = { ...withoutLeader(world, first, Number.POSITIVE_INFINITY), budgetMs: 0 };
  expect(await world.run(second, engine, { log, job: { release: released } })).toBe("handed_over");
  expect(released).toHaveBeenCalledOnce();
  expect((await world.read(second)).at(-1)).toMatchObject({ type: "attempt.ended", reason: "handover" });
  expect(await world.run(second, engine)).toBe("completed");
  expect(inputs).toEqual([asked("It is 42.")]);
});
