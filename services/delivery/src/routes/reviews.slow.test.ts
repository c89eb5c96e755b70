import { type ReviewRecord, storeVerdict, reviewList } from "@reprise/moderation";
import {
  type EventDraft,
  type GenerationRef,
  reviewIdOf,
  type Verdict,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  openWorker,
  type Platform,
  started,
} from "../testing/platform.ts";

const RANGE = { from_seq: asSeq(3), to_seq: asSeq(4), rule: "weapons", category: "violence" } as const;
/** "bomb", in "the bomb ". */
const OFFSETS = { from_offset: 4, to_offset: 8 } as const;
const EXPIRES_AT = "2026-11-21T13:00:00.000Z";
const RECORD: ReviewRecord = {
  ...RANGE,
  channel: "0",
  created_at: "2026-11-21T12:00:00.000Z",
  expires_at: EXPIRES_AT,
};

const reviewDraft = (seq: number): EventDraft => ({
  type: "moderation.review",
  review_id: reviewIdOf(asSeq(seq)),
  ...RANGE,
  ...OFFSETS,
  expires_at: EXPIRES_AT,
});

/** Creates a generation with `reviews` open reviews, the first one at seq 6. */
async function ask(platform: Platform, { reviews = 1, key }: { reviews?: number; key?: string } = {}) {
  const generation = await createGeneration(platform, key === undefined ? {} : { key });
  const { worker, ref } = generation;
  await append(worker, started(), delta("Hide "), delta("the b"), delta("omb "), delta("well."));
  const ids: string[] = [];
  for (let seq = 6; seq < 6 + reviews; seq++) {
    await append(worker, reviewDraft(seq));
    await reviewList.add(platform.log.publish, ref, reviewIdOf(asSeq(seq)), RECORD);
    ids.push(`${ref.generation}.${reviewIdOf(asSeq(seq))}`);
  }
  return { ...generation, ids, id: ids[0]! };
}

const list = (platform: Platform, { query = "", key }: { query?: string; key?: string } = {}) =>
  call(`${platform.node.url}/v1/reviews${query}`, { key: key ?? KEYS.acmeReviewer });

const answer = (url: string, id: string, body: unknown, key: string = KEYS.acmeReviewer) =>
  call(`${url}/v1/reviews/${id}`, { body, key, method: "POST" });

const idsOf = ({ json }: { json: unknown }) =>
  (json as { reviews: { id: string }[] }).reviews.map(({ id }) => id);

const codeOf = ({ status, json }: { status: number; json: unknown }) => [
  status,
  (json as { error?: { code: string } }).error?.code,
];

async function lastEvents({ log }: Platform, ref: GenerationRef, count: number): Promise<unknown[]> {
  const { events } = await log.reader.readLog(ref);
  return events.slice(-count).map((payload) => JSON.parse(Buffer.from(payload).toString()) as unknown);
}

describe("the list of reviews", () => {
  test("has what waits, with its text and the text around it, and is not to be cached", async () => {
    await using platform = await openPlatform();
    const { id, generation } = await ask(platform);
    const { status, json, headers } = await list(platform);
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(json).toEqual({
      object: "list",
      reviews: [
        {
          id,
          object: "review",
          generation: generation.id,
          ...RECORD,
          ...OFFSETS,
          text: "the bomb ",
          before: "Hide ",
          after: "well.",
        },
      ],
    });
  });

  test("has a tenant's own alone", async () => {
    await using platform = await openPlatform();
    const { id } = await ask(platform);
    const others = await ask(platform, { key: KEYS.beta });
    expect(idsOf(await list(platform))).toEqual([id]);
    expect(idsOf(await list(platform, { key: KEYS.beta }))).toEqual([others.id]);
    expect(codeOf(await answer(platform.node.url, id, { decision: "halt" }, KEYS.beta))).toEqual([
      404,
      "review_not_found",
    ]);
    expect(idsOf(await list(platform))).toEqual([id]);
  });

  test("comes page by page, the longest waiting first", async () => {
    await using platform = await openPlatform();
    const [first, second] = [await ask(platform, { reviews: 3 }), await ask(platform, { reviews: 2 })];
    const begin = await list(platform, { query: "?limit=2" });
    expect(idsOf(begin)).toEqual(first.ids.slice(0, 2));
    const { cursor } = begin.json as { cursor: string };
    const rest = await list(platform, { query: `?limit=3&after=${cursor}` });
    expect(idsOf(rest)).toEqual([first.ids[2], ...second.ids]);
    expect(rest.json).not.toHaveProperty("cursor");
  });

  test("leaves out what is decided, and what has no log any more, though they are listed still", async () => {
    await using platform = await openPlatform();
    const { ids, ref, id } = await ask(platform, { reviews: 2 });
    await reviewList.add(platform.log.publish, ref, "rev_99", RECORD);
    await reviewList.add(
      platform.log.publish,
      { ...ref, generation: `${ref.generation.slice(0, -1)}0` as typeof ref.generation },
      "rev_6",
      RECORD,
    );
    await answer(platform.node.url, id, { decision: "approve" });
    expect(idsOf(await list(platform))).toEqual(ids.slice(1));
  });

  test.each([
    ["?limit=0", "invalid_request"],
    ["?limit=101", "invalid_request"],
    ["?after=x", "cursor_invalid"],
    ["?after=-1", "cursor_invalid"],
    ["?tenant=beta", "invalid_request"],
  ])("refuses %s", async (query, code) => {
    await using platform = await openPlatform();
    expect(codeOf(await list(platform, { query }))).toEqual([400, code]);
  });
});

describe("a reviewer's decision", () => {
  test.each([
    { decision: "approve" },
    { decision: "edit", replacement: "the gift " },
    { decision: "edit", replacement: "" },
    { decision: "halt" },
  ])("is in the log, with who made it: %j", async (body) => {
    await using platform = await openPlatform();
    const { id, ref, generation } = await ask(platform);
    const { status, json, headers } = await answer(platform.node.url, id, body);
    const { created_at: _, ...review } = RECORD;
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(json).toEqual({
      id,
      object: "review",
      generation: generation.id,
      ...review,
      ...OFFSETS,
      ...body,
      reviewer: "bob",
    });
    expect(await lastEvents(platform, ref, 1)).toEqual([
      { seq: 7, type: "moderation.reviewed", review_id: "rev_6", ...body, reviewer: "bob" },
    ]);
  });

  test("said again is answered as before, by whomever; another one is a conflict", async () => {
    await using platform = await openPlatform();
    const { id, ref } = await ask(platform);
    const { url } = platform.node;
    const edit = { decision: "edit", replacement: "the gift " };
    const first = await answer(url, id, edit);
    const again = await answer((await platform.addNode()).url, id, edit, KEYS.acme);
    expect([again.status, again.json]).toEqual([200, first.json]);
    for (const other of [{ decision: "approve" }, { decision: "edit", replacement: "the gift" }])
      expect(codeOf(await answer(url, id, other))).toEqual([409, "review_conflict"]);
    expect(await lastEvents(platform, ref, 2)).toMatchObject([{ seq: 6 }, { seq: 7 }]);
  });

  test("is possible after the end, and comes too late once the policy has decided, even with the same decision", async () => {
    await using platform = await openPlatform();
    const { ids, ref } = await ask(platform, { reviews: 2 });
    const worker = await openWorker(platform.log, ref);
    await append(worker, completed(), {
      type: "moderation.reviewed",
      review_id: "rev_7",
      decision: "approve",
      reviewer: "timeout",
    });
    const { url } = platform.node;
    expect(codeOf(await answer(url, ids[0]!, { decision: "approve" }))).toEqual([200, undefined]);
    expect(codeOf(await answer(url, ids[1]!, { decision: "approve" }))).toEqual([409, "review_conflict"]);
  });

  test("that races with others has one winner, and each caller gets what the log says", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    for (let round = 0; round < 10; round++) {
      const { id, ref } = await ask(platform);
      const bodies = [{ decision: "approve" }, { decision: "halt" }, { decision: "approve" }];
      const answers = await Promise.all(
        bodies.map((body, i) =>
          i === 1
            ? answer(other.url, id, body, KEYS.acmeReviewer)
            : answer(platform.node.url, id, body, KEYS.acme),
        ),
      );
      const [reviewed] = (await lastEvents(platform, ref, 1)) as { decision: string; reviewer: string }[];
      expect(await lastEvents(platform, ref, 2)).toMatchObject([{ seq: 6 }, { seq: 7 }]);
      const truth = { decision: reviewed!.decision, reviewer: reviewed!.reviewer };
      expect(answers.map(({ status, json }) => [status, json])).toMatchObject(
        bodies.map(({ decision }) =>
          decision === truth.decision ? [200, truth] : [409, { error: { code: "review_conflict" } }],
        ),
      );
    }
  });

  test("of a review that does not exist is not found", async () => {
    await using platform = await openPlatform();
    const { id, generation } = await ask(platform);
    const ids = [
      `${generation.id}.rev_7`,
      `${generation.id}.rev_6.x`,
      `${generation.id}.REV_6`,
      `${generation.id}.*`,
      `${generation.id}.`,
      generation.id,
      `x.rev_6`,
      `gen_0_00000000000000000000000000.rev_6`,
      `gen_999_00000000000000000000000000.rev_6`,
      `.${id}`,
      "%00",
      "x".repeat(5_000),
    ];
    for (const unknown of ids) {
      const found = await answer(platform.node.url, unknown, { decision: "approve" });
      expect([unknown, ...codeOf(found)]).toEqual([unknown, 404, "review_not_found"]);
    }
  });

  test.each([
    ["without a decision", {}, "decision"],
    ["with one that there is not", { decision: "maybe" }, "decision"],
    ["as an edit without a text", { decision: "edit" }, "replacement"],
    ["as an edit with null for a text", { decision: "edit", replacement: null }, "replacement"],
    ["as an edit over the limit", { decision: "edit", replacement: "x".repeat(4_097) }, "replacement"],
    ["as an approval with a text", { decision: "approve", replacement: "x" }, "replacement"],
    ["as a halt with a text", { decision: "halt", replacement: "x" }, "replacement"],
    ["in another reviewer's name", { decision: "approve", reviewer: "ann" }, "reviewer"],
    ["as a list", [], "body"],
    ["as nothing", "null", "body"],
  ])("is refused %s", async (_, body, param) => {
    await using platform = await openPlatform();
    const { id, ref } = await ask(platform);
    const { status, json } = await answer(platform.node.url, id, body);
    expect([status, json]).toMatchObject([400, { error: { code: "invalid_request", param } }]);
    expect(await lastEvents(platform, ref, 1)).toMatchObject([{ type: "moderation.review" }]);
  });

  test("needs the role, as the list and the coverage do", async () => {
    await using platform = await openPlatform();
    const { id, path } = await ask(platform);
    const { url } = platform.node;
    const key = KEYS.acmeReader;
    const answers = [
      await list(platform, { key }),
      await answer(url, id, { decision: "approve" }, key),
      await call(`${url}${path}/moderation`, { key }),
    ];
    expect(answers.map(codeOf)).toEqual(answers.map(() => [403, "forbidden"]));
    const others = [
      await call(`${url}${path}`, { key: KEYS.acmeReviewer }),
      await list(platform, { key: "rk_acme_unknown" }),
      await answer(url, id, { decision: "approve" }, "rk_acme_unknown"),
    ];
    expect(others.map(codeOf)).toEqual([
      [403, "forbidden"],
      [401, "unauthenticated"],
      [401, "unauthenticated"],
    ]);
  });
});

describe("what moderation has judged", () => {
  const read = ({ node }: Platform, path: string, key: string = KEYS.acmeReviewer) =>
    call(`${node.url}${path}/moderation`, { key });

  test("is told with the rules, and what was found, as it is stored", async () => {
    await using platform = await openPlatform();
    const body = { model: "sim", input: "hello", policy: { moderation: { mode: "gate", rules: ["cards"] } } };
    const { ref, path, worker } = await createGeneration(platform, { body });
    await append(worker, started(), delta("Hello."));
    const rule_set = expect.stringMatching(/^[0-9a-f]{26}$/) as string;
    const nothing = { judged: 0, cleared: 0, spans: [], findings: [], finding_count: 0, unjudged: [] };
    const about = { object: "moderation", generation: ref.generation, mode: "gate", rule_set, last_seq: 2 };
    expect((await read(platform, path)).json).toEqual({ ...about, ...nothing });
    const verdict: Verdict = {
      judged: asSeq(2),
      cleared: asSeq(1),
      decided: asSeq(0),
      spans: [{ from_seq: asSeq(1), to_seq: asSeq(2), rule_set: "0".repeat(26) }],
      findings: [{ rule: "cards", category: "card", action: "flag", from_seq: asSeq(2), to_seq: asSeq(2) }],
      finding_count: 1,
    };
    await storeVerdict(platform.log.publish, ref, verdict, { expectedLast: asStreamSeq(0) });
    const { decided: _, ...told } = verdict;
    const { json, headers } = await read(platform, path);
    expect([headers.get("cache-control"), json]).toEqual(["no-store", { ...about, ...nothing, ...told }]);
  });

  test("is nothing where moderation is off, and where there is no generation of the tenant's", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    expect((await read(platform, path)).json).toMatchObject({
      mode: "off",
      rule_set: null,
      judged: 0,
      spans: [],
    });
    expect(codeOf(await read(platform, path, KEYS.beta))).toEqual([404, "generation_not_found"]);
    expect(codeOf(await read(platform, "/v1/generations/x"))).toEqual([404, "generation_not_found"]);
  });
});
