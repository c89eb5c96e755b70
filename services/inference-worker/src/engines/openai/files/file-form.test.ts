import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { mediaOf } from "../../../testing/stored-blob.ts";
import { toFileForm } from "./file-form.ts";

const CONTENT = Buffer.from("one, two, three and four");

test("a form has its length beforehand, and is the same however often it is sent and however its content comes in pieces", async () => {
  const media = {
    ...mediaOf(CONTENT, "text/plain"),
    link: () => Promise.reject(new Error("no link is asked for")),
    async *read() {
      // As a store may, one memory for all pieces.
      const memory = new Uint8Array(5);
      for (let from = 0; from < CONTENT.length; from += memory.length) {
        const piece = CONTENT.subarray(from, from + memory.length);
        memory.set(piece);
        yield memory.subarray(0, piece.length);
      }
    },
  };
  const form = toFileForm({ media, name: "naïve.txt" });
  const sent = await buffer(form.open());
  expect(sent.length).toBe(form.bytes);
  expect(await buffer(form.open())).toEqual(sent);
  const headers = { "content-type": form.type! };
  const fields = await new Response(new Uint8Array(sent), { headers }).formData();
  const file = fields.get("file") as File;
  expect([fields.get("purpose"), file.name, file.type]).toEqual(["user_data", "naïve.txt", "text/plain"]);
  expect(await file.text()).toBe(CONTENT.toString());
});
