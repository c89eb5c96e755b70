import type { GenerationRequest } from "@reprise/protocol";
import { openSseReader as open, type SseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { bytesOf, reprise, untilReadersAreKept } from "./testing/archive.ts";
import { startCluster } from "./testing/cluster.ts";
import { MASK, PATIENT, TENANT, untilJudged } from "./testing/moderated.ts";

/* What a model says beside its text, all of it in one run of the simulator, in each mode, through every service. */

const SECRET = "plover";
const SEALED = "c2VhbGVk";
const RULES = [{ terms: [SECRET], action: "redact" as const }];

type Request = GenerationRequest & { readonly policy: { readonly moderation: object } };

const REQUEST = {
  model: "sim",
  input: "Say it.",
  options: {
    says: [
      { type: "reasoning", text: `I know the ${SECRET}.` },
      { type: "summary", text: `About a ${SECRET}.` },
      { type: "sealed", encrypted: SEALED },
      { type: "refusal", text: `I say no ${SECRET}.` },
      { type: "annotation", url: `https://example.com/${SECRET}`, title: `The ${SECRET}`, from: 0, to: 3 },
    ],
    chunks: ["It is ", SECRET, ", and that is all."],
    tokens_per_second: 0,
  },
};
/** As they are stored, an annotation behind the text that it is of; without those that moderation appends. */
const TYPES = [
  "generation.started",
  "reasoning.delta",
  "reasoning.summary.delta",
  "reasoning.sealed",
  "refusal.delta",
  "output.delta",
  "output.annotation",
  "generation.completed",
];
const SAID = {
  text: `It is ${SECRET}, and that is all.`,
  refusal: `I say no ${SECRET}.`,
  annotations: [{ url: `https://example.com/${SECRET}`, title: `The ${SECRET}` }],
};
const SHOWN = {
  text: `It is ${MASK}, and that is all.`,
  refusal: `I say no ${MASK}.`,
  annotations: [{ kind: "url", title: MASK }],
};
/** What its readers get who come at once, and those who come when all is over. */
const MODES = [
  ["off", SAID, true, true],
  ["observe", SAID, true, true],
  ["retract", SHOWN, undefined, false],
  ["gate", SHOWN, false, false],
] as const;

function typesIn(reader: SseReader): string[] {
  const types = reader.frames.map(({ data }) => (JSON.parse(data) as { type: string }).type);
  return [...new Set(types.filter((type) => !type.startsWith("moderation.")))];
}

test("whatever a model says beside its text is shown, held back and withdrawn as its mode says: to readers of any time and node, in pages, by GET, and in the archive", async () => {
  await using cluster = await startCluster();
  const [{ url }, other] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startAuditLog(),
    cluster.startWorker(),
  ]);
  const headers = { authorization: `Bearer ${cluster.keys[TENANT]}` };
  const get = async (base: string, path: string) => {
    const response = await fetch(base + path, { headers: { ...headers, accept: "application/json" } });
    return response.text();
  };

  const read: { mode: string; id: string; bytes: readonly [live: string, late: string] }[] = [];
  for (const [mode, told, isSaidLive, isSaidLate] of MODES) {
    const moderation = { mode, rules: RULES, ...PATIENT };
    const body = { ...REQUEST, policy: { moderation } } as unknown as Request;
    await using live = await open(`${url}/v1/generations`, {
      method: "POST",
      headers: { ...headers, accept: "text/event-stream" },
      body,
    });
    const path = `/v1/generations/${String(live.headers["reprise-generation-id"])}`;
    const id = path.slice("/v1/generations/".length);
    expect(await live.ended, mode).toBe("clean");
    if (mode !== "off") await untilJudged(cluster, id);

    await using late = await open(`${other.url}${path}/events`, { headers });
    expect(await late.ended, mode).toBe("clean");
    for (const reader of [live, late]) expect(typesIn(reader), mode).toEqual(TYPES);
    // What is sealed may hold what was withdrawn of the reasoning, and goes with it.
    for (const word of [SECRET, SEALED]) {
      expect(bytesOf(live).includes(word), mode).toBe(isSaidLive ?? bytesOf(live).includes(word));
      expect(bytesOf(late).includes(word), mode).toBe(isSaidLate);
    }
    for (const base of [url, other.url]) {
      await expect
        .poll(async () => JSON.parse(await get(base, path)) as unknown, { message: mode })
        .toMatchObject(told);
      expect((await get(base, path)).includes(SECRET), mode).toBe(isSaidLate);
      expect((await get(base, `${path}/events`)).includes(SECRET), mode).toBe(isSaidLate);
    }

    read.push({ mode, id, bytes: [bytesOf(live), bytesOf(late)] });
  }

  for (const { mode, id, bytes } of read) {
    const marks = await untilReadersAreKept(cluster, id, 2);
    const shown = await Promise.all(
      marks.map(({ reader }) =>
        reprise(cluster, "replay", "--generation", id, "--as-shown-to", reader, "--format", "sse"),
      ),
    );
    expect(shown.toSorted(), mode).toEqual(bytes.toSorted());
    const archived = await reprise(cluster, "replay", "--generation", id, "--format", "sse");
    expect(archived, mode).toBe(bytes[1]);
    const original = await reprise(cluster, "replay", "--generation", id, "--original", "--format", "sse");
    expect(original.split(SECRET).length - 1, mode).toBeGreaterThanOrEqual(6);
  }
});
