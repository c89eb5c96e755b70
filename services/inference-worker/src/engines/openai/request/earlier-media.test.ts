import { buffer } from "node:stream/consumers";
import * as conversations from "@reprise/conversations";
import {
  asSeq,
  DIALECTS,
  effectiveRequest,
  encodeEvent,
  type EventDraft,
  promptBehind,
} from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { mediaOf } from "../../../testing/stored-blob.ts";
import { type EngineRequest, type MediaSource, NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";
import { findPlaces } from "./placed-media.ts";

const CONTENT = Buffer.from("an uploaded image");
const FETCHED = Buffer.from("what the URL gave then");
const URL_OF_IT = "https://files.example.com/a.png";
const uploaded = mediaOf(CONTENT, "image/png", 1);
const fetched = mediaOf(FETCHED, "image/png", 2);
const contents = new Map([
  [uploaded.blob, { ...uploaded, content: CONTENT }],
  [fetched.blob, { ...fetched, content: FETCHED }],
]);
const media: MediaSource = {
  async find(reference) {
    const { content, ...known } = contents.get(reference as typeof uploaded.blob)!;
    return {
      ...known,
      link: () => Promise.reject(new Error("no link is asked for")),
      async *read() {
        yield content;
      },
    };
  },
};
const dataUrl = (content: Buffer) => `data:image/png;base64,${content.toString("base64")}`;
const asking = (...places: object[]) => [
  {
    role: "user",
    content: [{ type: "text", text: "What?" }, ...places.map((at) => ({ type: "image", ...at }))],
  },
];

test.each(DIALECTS)(
  "%s: a turn that sends text alone asks its engine byte for byte what a direct call with all of it would, images by blob and by URL too",
  async (dialect) => {
    const ref = createRef();
    const begins = {
      ...requested(ref, { input: asking({ blob: uploaded.blob }, { url: URL_OF_IT }) as never }),
      media: { [uploaded.blob]: uploaded, [URL_OF_IT]: fetched },
    } as EventDraft;
    const drafts = [begins, started(), delta("Two dots."), completed()];
    const first = conversations.foldTurn(drafts.map((draft, i) => encodeEvent(asSeq(i), draft)))!;
    const own = { model: "m", input: "Which colours?" };
    const second: EngineRequest = effectiveRequest({ request: own, prompt: promptBehind(first) });

    const model = {
      upstreamModel: "org/m",
      continuation: "none",
      maxTokensField: "max_tokens",
      dialect,
    } as const;
    const direct: EngineRequest = {
      ...second,
      input: [
        ...asking({ url: dataUrl(CONTENT) }, { url: dataUrl(FETCHED) }),
        { role: "assistant", content: "Two dots." },
        { role: "user", content: "Which colours?" },
      ] as never,
    };
    const places = await findPlaces(second, media);
    const body = places.toBody(JSON.stringify(toChatRequest(second, NO_PROGRESS, model, places.place)));
    const sent = (await buffer(body.open())).toString();
    expect(sent).toBe(JSON.stringify(toChatRequest(direct, NO_PROGRESS, model)));
    for (const content of [CONTENT, FETCHED]) expect(sent).toContain(content.toString("base64"));
  },
);
