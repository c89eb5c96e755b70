import type { Case } from "../case.ts";
import { check, checkEqual } from "../check.ts";
import { create, createEnded, eventsPath, readFrames, readLog, SHORT, textOf } from "../generation.ts";
import { readEventStream } from "../http/event-stream.ts";

/** Line ends of some SSE clients, and characters of two to four bytes. */
const CHUNKS = ["a\u0085b", "c\u2028d", "e\u2029f", "日本", "🙂", "line\nbreak\r\n"];

export const eventCases: readonly Case[] = [
  {
    requirement: "M-43",
    name: "events of streams and pages",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const { frames } = await readFrames(target, id);
      for (const { data } of frames)
        check(/^\{\s*"seq"\s*:\s*\d+\s*,\s*"type"\s*:\s*"/.test(data), "seq and type first", data);
      for (const event of await readLog(target, id))
        checkEqual("first fields", Object.keys(event).slice(0, 2), ["seq", "type"]);
    },
  },
  {
    requirement: "M-44",
    name: "a live stream, a late one and pages",
    async run(target) {
      const { id } = await create(target, SHORT);
      const live = await readFrames(target, id);
      const late = await readFrames(target, id);
      for (const events of [live.events, late.events, await readLog(target, id)]) {
        check(events.length > 2, "events", events.length);
        checkEqual(
          "seqs",
          events.map(({ seq }) => seq),
          events.map((_, index) => index + 1),
        );
      }
    },
  },
  {
    requirement: "M-46",
    name: "two live streams, a late one and pages",
    async run(target) {
      const { id } = await create(target, SHORT);
      const live = await Promise.all([readFrames(target, id), readFrames(target, id)]);
      const late = await readFrames(target, id);
      const bytesOf = ({ frames }: typeof late) => frames.map(({ data }) => data);
      for (const stream of [...live, late])
        checkEqual("events of another reader", bytesOf(stream), bytesOf(live[0]));
      checkEqual("events of pages", await readLog(target, id), live[0].events);
    },
  },
  {
    requirement: "M-57",
    name: "the lines of a stream",
    async run(target) {
      const { id } = await create(target, SHORT);
      const { text } = await readEventStream(target, eventsPath(id));
      check(text.endsWith("\n\n") && !text.includes("\r"), "frames that end with LF LF", text.slice(-200));
      for (const frame of text.slice(0, -2).split("\n\n")) {
        const lines = frame.replaceAll(/^(: ping|retry: \d+)\n/gm, "");
        check(/^id: [^\n]+\ndata: \{[^\n]+\}$/.test(lines), "one id and one data line", frame);
      }
    },
  },
  {
    requirement: "M-58",
    name: "text with U+0085, U+2028 and U+2029",
    async run(target) {
      const { id } = await createEnded(target, { chunks: CHUNKS, tokens_per_second: 0 });
      const { text, events } = await readFrames(target, id);
      const said = textOf(events);
      checkEqual("the joined text", said, CHUNKS.join(""));
      check(!/[\u0085\u2028\u2029]/.test(text), "escapes of U+0085, U+2028 and U+2029", text);
    },
  },
];
