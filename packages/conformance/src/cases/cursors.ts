import type { Case } from "../case.ts";
import { check, checkEqual, checkError, checkStatus } from "../check.ts";
import { create, createEnded, eventsPath, readFrames, readPage, SHORT } from "../generation.ts";
import { call } from "../http/call.ts";
import { readEventStream } from "../http/event-stream.ts";

const AS_JSON = { accept: "application/json" };

export const cursorCases: readonly Case[] = [
  {
    requirement: "M-48",
    name: "cursors of a stream, of pages and of the generation",
    async run(target) {
      const { id, cursor } = await createEnded(target, SHORT);
      const { frames } = await readFrames(target, id);
      const page = await readPage(target, id, { limit: 2 });
      for (const one of [cursor, page.cursor, ...frames.map((frame) => frame.id)])
        check(/^[!-~]{1,26}$/.test(one), "1 to 26 printable ASCII characters", one);
    },
  },
  {
    requirement: "M-49",
    name: "header and query together, and empty ones",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const { frames } = await readFrames(target, id);
      const all = frames.map((frame) => frame.id);
      const readIds = async (name: string, headers: Readonly<Record<string, string>>) =>
        (await readEventStream(target, name, { headers })).frames.map((frame) => frame.id);
      const both = await readIds(eventsPath(id, { after: all[1]! }), { "last-event-id": all[4]! });
      checkEqual("events after the header's cursor", both, all.slice(5));
      checkEqual("events after an empty header", await readIds(eventsPath(id), { "last-event-id": "" }), all);
      checkEqual("events after an empty query", await readIds(eventsPath(id, { after: "" }), {}), all);
    },
  },
  {
    requirement: "M-50",
    name: "each cursor of an ended generation, twice, and one while it runs",
    async run(target) {
      const { id } = await create(target, SHORT);
      const live = await readFrames(target, id);
      const all = live.frames.map(({ raw }) => raw);
      for (const [index, { id: cursor }] of live.frames.slice(0, -1).entries())
        for (let repeats = 0; repeats < 2; repeats++) {
          const { frames } = await readFrames(target, id, cursor);
          checkEqual(
            `events after ${cursor}`,
            frames.map(({ raw }) => raw),
            all.slice(index + 1),
          );
        }
      const { id: running } = await create(target, { ...SHORT, tokens: 40 });
      const first = await readPage(target, running, { wait: 5_000, limit: 1 });
      const { events } = await readFrames(target, running, first.cursor);
      checkEqual(
        "seqs of a live resume",
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 2),
      );
    },
  },
  {
    requirement: "M-51",
    name: "malformed cursors, and those of another log",
    async run(target) {
      const [one, other] = await Promise.all([createEnded(target, SHORT), createEnded(target, SHORT)]);
      for (const cursor of ["none", "1", "-1", "1.x-y-z", "9".repeat(40), other.cursor])
        for (const headers of [AS_JSON, {}])
          checkError(
            await call(target, eventsPath(one.id, { after: cursor }), { headers }),
            400,
            "cursor_invalid",
          );
    },
  },
  {
    requirement: "M-61",
    name: "the last cursor of an ended generation",
    async run(target) {
      const { id, cursor } = await createEnded(target, SHORT);
      const answer = await call(target, eventsPath(id, { after: cursor }));
      checkStatus(answer, 204);
      checkEqual("body", answer.text, "");
    },
  },
];
