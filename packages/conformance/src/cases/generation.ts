import type { Case } from "../case.ts";
import { check, checkEqual, checkStatus } from "../check.ts";
import {
  cancel,
  CALLING,
  create,
  createCalling,
  createEnded,
  eventsPath,
  FAILING,
  type Generation,
  hasEnded,
  isTerminal,
  LONG,
  read,
  readFrames,
  readLog,
  readUntil,
  SHORT,
  SILENT,
  textOf,
} from "../generation.ts";
import { openEventStream } from "../http/event-stream.ts";
import type { Target } from "../target.ts";

const STATUSES = ["queued", "in_progress", "awaiting_tool", "completed", "failed", "cancelled"];

/** A generation in each state that a client can bring about, by the status it must have. */
async function readStates(target: Target): Promise<Readonly<Record<string, Generation>>> {
  const running = async () => {
    const { id } = await create(target, LONG);
    return readUntil(target, id, ({ text }) => text !== "");
  };
  const cancelled = async () => {
    const { id } = await create(target, LONG);
    await cancel(target, id);
    return readUntil(target, id, hasEnded);
  };
  const [in_progress, awaiting_tool, completed, failed, ended] = await Promise.all([
    running(),
    createCalling(target),
    createEnded(target, SHORT),
    createEnded(target, FAILING),
    cancelled(),
  ]);
  return { in_progress, awaiting_tool, completed, failed, cancelled: ended };
}

export const generationCases: readonly Case[] = [
  {
    requirement: "M-28",
    name: "generations in five states",
    async run(target) {
      const { json, id } = await create(target, LONG);
      check(STATUSES.includes(String(json["status"])), `one of ${STATUSES.join(", ")}`, json["status"]);
      const states = await readStates(target);
      checkEqual(
        "statuses",
        Object.values(states).map(({ status }) => status),
        Object.keys(states),
      );
      await cancel(target, id);
    },
  },
  {
    requirement: "M-29",
    name: "generations in five states",
    async run(target) {
      for (const [status, { id, settled, cursor }] of Object.entries(await readStates(target))) {
        const isOver = ["completed", "failed", "cancelled"].includes(status);
        checkEqual(`settled of a generation that is ${status}`, settled, isOver);
        if (!isOver) continue;
        const { frames } = await readFrames(target, id);
        checkEqual(`cursor of a generation that is ${status}`, cursor, frames.at(-1)?.id);
      }
    },
  },
  {
    requirement: "M-30",
    name: "a generation that runs, and ended ones",
    async run(target) {
      const { in_progress: running, completed, failed } = await readStates(target);
      await cancel(target, running!.id);
      for (const { id, text, cursor } of [running!, completed!, failed!]) {
        const { frames, events } = await readFrames(target, id);
        const at = frames.findIndex((frame) => frame.id === cursor);
        check(at >= 0, "a frame with the generation's cursor", cursor);
        checkEqual("text", text, textOf(events.slice(0, at + 1)));
      }
    },
  },
  {
    requirement: "M-31",
    name: "generations in five states",
    async run(target) {
      for (const [status, { error, finish_reason: reason }] of Object.entries(await readStates(target))) {
        checkEqual(`error of a generation that is ${status} is null`, error === null, status !== "failed");
        checkEqual(`finish_reason of one that is ${status} is null`, reason === null, status !== "completed");
      }
    },
  },
  {
    requirement: "M-32",
    name: "a running, a silent and a new generation, and one that waits for a tool",
    async run(target) {
      const [running, silent, created, calling] = await Promise.all([
        create(target, LONG),
        create(target, SILENT),
        create(target, LONG),
        create(target, CALLING),
      ]);
      const cancelled = [await cancel(target, created.id)];
      await Promise.all([
        readUntil(target, running.id, ({ text }) => text !== ""),
        readUntil(target, silent.id, ({ status }) => status === "in_progress"),
        readUntil(target, calling.id, ({ status }) => status === "awaiting_tool"),
      ]);
      for (const { id } of [running, silent, calling]) cancelled.push(await cancel(target, id));
      for (const answer of cancelled) {
        checkStatus(answer, 200);
        checkEqual("status", answer.json["status"], "cancelled");
        const end = (await readLog(target, String(answer.json["id"]))).at(-1);
        checkEqual("last event", [end?.type, end?.["reason"]], ["generation.cancelled", "conformance"]);
      }
    },
  },
  {
    requirement: "M-33",
    name: "completed, failed and cancelled generations",
    async run(target) {
      const { completed, failed, cancelled } = await readStates(target);
      for (const generation of [completed!, failed!, cancelled!]) {
        const before = await readLog(target, generation.id);
        const answer = await cancel(target, generation.id);
        checkStatus(answer, 200);
        checkEqual("status", answer.json["status"], generation.status);
        checkEqual("events", await readLog(target, generation.id), before);
      }
    },
  },
  {
    requirement: "M-45",
    name: "completed, failed and cancelled generations",
    async run(target) {
      const { completed, failed, cancelled } = await readStates(target);
      for (const { id, status } of [completed!, failed!, cancelled!]) {
        await cancel(target, id);
        const { events } = await readFrames(target, id);
        for (const log of [events, await readLog(target, id)]) {
          const ends = log.filter(isTerminal).map(({ type }) => type);
          checkEqual("terminal events", ends, [`generation.${status}`]);
          const later = log.slice(log.findIndex(isTerminal) + 1).map(({ type }) => type);
          checkEqual(
            "events after the end",
            later.filter((type) => !type.startsWith("moderation.")),
            [],
          );
        }
      }
    },
  },
  {
    requirement: "M-47",
    name: "the first attempt",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const events = await readLog(target, id);
      const started = events.filter(({ type }) => type === "generation.started");
      checkEqual(
        "attempts",
        started.map(({ attempt }) => attempt),
        started.map((_, index) => index + 1),
      );
      checkEqual("the first event", events[0]?.type, "generation.started");
      checkEqual("status", (await read(target, id)).status, "completed");
    },
  },
  {
    requirement: "M-60",
    name: "streams of completed, failed and cancelled generations, from their creates on",
    async run(target) {
      const ends = await Promise.all(
        [SHORT, FAILING, LONG].map(async (options) => {
          const { id } = await create(target, options);
          using stream = await openEventStream(target, eventsPath(id));
          await stream.take(2);
          if (options === LONG) await cancel(target, id);
          const end = await stream.ended;
          const last = stream.frames.at(-1);
          return [end, last === undefined ? undefined : isTerminal(JSON.parse(last.data))];
        }),
      );
      for (const end of ends) checkEqual("end, and the last event is terminal", end, ["clean", true]);
    },
  },
];
