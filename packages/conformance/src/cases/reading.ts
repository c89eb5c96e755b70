import { setTimeout as pause } from "node:timers/promises";
import type { Case } from "../case.ts";
import { check, checkEqual, checkError } from "../check.ts";
import {
  cancel,
  create,
  createEnded,
  eventsPath,
  isTerminal,
  LONG,
  read,
  readFrames,
  readPage,
  readUntil,
  SHORT,
  SILENT,
} from "../generation.ts";
import { call } from "../http/call.ts";
import { openEventStream } from "../http/event-stream.ts";

const TYPE = "text/event-stream; charset=utf-8";
/** Hundreds of kilobytes of events. */
const BIG = { tokens: 40_000, tokens_per_second: 0 };

export const readingCases: readonly Case[] = [
  {
    requirement: "M-55",
    name: "no Accept, and types that the call lacks",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const { headers } = await call(target, eventsPath(id));
      checkEqual("Content-Type without an Accept", headers["content-type"], TYPE);
      for (const accept of ["image/png", "text/html, application/xml"])
        checkError(await call(target, eventsPath(id), { headers: { accept } }), 406, "not_acceptable");
    },
  },
  {
    requirement: "M-56",
    name: "a stream that begins in the middle of a run",
    async run(target) {
      const { id } = await create(target, LONG);
      const { cursor } = await readUntil(target, id, ({ text }) => text.length > 20);
      using stream = await openEventStream(target, eventsPath(id));
      checkEqual("status", stream.status, 200);
      checkEqual("Content-Type", stream.headers["content-type"], TYPE);
      while (!stream.frames.some((frame) => frame.id === cursor)) {
        const { length } = stream.frames;
        await stream.changed();
        check(stream.frames.length >= length, "more events");
      }
      const before = stream.frames.length;
      await stream.take(before + 5);
      checkEqual("status after five more events", (await read(target, id)).status, "in_progress");
    },
  },
  {
    requirement: "M-59",
    name: "a stream of a silent generation",
    seconds: 16,
    async run(target) {
      const { id } = await create(target, SILENT);
      using stream = await openEventStream(target, eventsPath(id));
      await stream.take(1);
      const before = stream.text.length;
      const since = performance.now();
      await Promise.race([stream.changed(), pause(23_000, undefined, { ref: false })]);
      checkEqual("bytes after 15 seconds", stream.text.slice(before), ": ping\n");
      const seconds = (performance.now() - since) / 1_000;
      check(seconds > 10 && seconds < 22, "a heartbeat after 15 seconds", seconds);
    },
  },
  {
    requirement: "M-64",
    name: "a reader that pauses until the end",
    async run(target) {
      const { id } = await create(target, BIG);
      using slow = await openEventStream(target, eventsPath(id));
      slow.pause();
      const prompt = await readFrames(target, id);
      slow.resume();
      checkEqual("end of the slow stream", await slow.ended, "clean");
      const rawOf = ({ frames }: { readonly frames: readonly { readonly raw: string }[] }) =>
        frames.map(({ raw }) => raw);
      const [late, early] = [rawOf(slow), rawOf(prompt)];
      checkEqual("number of events", late.length, early.length);
      check(
        late.every((raw, index) => raw === early[index]),
        "the same events",
      );
    },
  },
  {
    requirement: "M-65",
    name: "pages of one, three and all events",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const { events, frames } = await readFrames(target, id);
      for (const limit of [1, 3, 1_000])
        for (let at = 0; at < events.length;) {
          const query = { limit, ...(at > 0 && { after: frames[at - 1]!.id }) };
          const page = await readPage(target, id, query);
          check(
            page.events.length > 0 && page.events.length <= limit,
            `1 to ${limit} events`,
            page.events.length,
          );
          checkEqual(`events after ${at}`, page.events, events.slice(at, at + page.events.length));
          at += page.events.length;
          checkEqual("cursor", page.cursor, frames[at - 1]!.id);
        }
      for (const limit of [0, 1_001]) {
        const headers = { accept: "application/json" };
        checkError(await call(target, eventsPath(id, { limit }), { headers }), 400, "invalid_request");
      }
    },
  },
  {
    requirement: "M-66",
    name: "pages of an ended generation, and of a running one",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const { events: log } = await readFrames(target, id);
      check(log.some(isTerminal), "a terminal event", log);
      for (let seen = 0, after = ""; seen < log.length;) {
        const page = await readPage(target, id, { limit: 2, ...(after !== "" && { after }) });
        check(page.events.length > 0, "events");
        seen += page.events.length;
        after = page.cursor;
        checkEqual(`ended after ${seen} of ${log.length} events`, page.ended, seen === log.length);
      }
      const { id: running } = await create(target, SILENT);
      checkEqual("ended of a running one", (await readPage(target, running)).ended, false);
    },
  },
  {
    requirement: "M-67",
    name: "a wait without an event, one with it, and none",
    async run(target) {
      const { id } = await create(target, SILENT);
      await readUntil(target, id, ({ status }) => status === "in_progress");
      const { cursor: after } = await readPage(target, id, { wait: 5_000 });
      for (const [wait, most] of [
        [0, 5_000],
        [1_000, 5_000],
      ] as const) {
        const since = performance.now();
        const page = await readPage(target, id, { after, wait });
        const ms = Math.round(performance.now() - since);
        checkEqual("events", page.events, []);
        check(ms >= wait - 20 && ms < wait + most, `a wait of ${wait} milliseconds`, ms);
      }
      const waitFor = readPage(target, id, { after, wait: 20_000 });
      const [{ events }] = await Promise.all([waitFor, cancel(target, id)]);
      checkEqual(
        "events of a cancel",
        events.map(({ type }) => type),
        ["generation.cancelled"],
      );
    },
  },
];
