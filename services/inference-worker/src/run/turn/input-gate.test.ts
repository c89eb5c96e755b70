import { WorkShares } from "@reprise/async";
import { compileRuleSet, createRuleSetStore } from "@reprise/moderation";
import {
  asSeq,
  type InputEntry,
  type InputRecord,
  type ModerationRule,
  type Seq,
  parseTenantId,
} from "@reprise/protocol";
import { InputWriter } from "@reprise/stream";
import { MODERATION, moderatedPolicy } from "@reprise/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { delta, started } from "../../testing/drafts.ts";
import {
  openWorld,
  type Submission,
  textOf,
  transcriptOf,
  typesOf,
  type World,
} from "../../testing/world.ts";
import { InputGate } from "./input-gate.ts";

const TENANT = parseTenantId("acme");
const typed = (text: string): InputEntry => ({ type: "input.delta", text });
const COMMIT: InputEntry = { type: "input.commit" };
const CLEAR: InputEntry = { type: "input.clear" };
const END: InputEntry = { type: "input.end" };
const RULES: ModerationRule[] = [
  { terms: ["secret plan", "plan b"], match: "anywhere" },
  { terms: ["bomb"], action: "halt", name: "weapons", category: "violence" },
  { terms: ["maybe"], action: "flag" },
  { terms: ["falcon"] },
  "cards",
];

/** Each entry in a record of its own. */
const toRecords = (entries: readonly InputEntry[]): InputRecord[] =>
  entries.map((entry, i) => ({ first: asSeq(i + 1), seq: asSeq(i + 1), at: 0, committed: asSeq(0), entry }));

async function pass(records: readonly InputRecord[], { after = 0, replacement = "*" } = {}) {
  const gate = new InputGate({
    judge: {
      shares: new WorkShares({ stepsPerSecond: 1e9, burst: 1e9, slice: 1e9 }),
      readRules: async (_tenant, id) => compileRuleSet(id, RULES),
    },
    tenant: TENANT,
    moderation: { ...MODERATION, input: "gate", replacement },
  });
  await gate.prepare();
  const passed: InputRecord[] = [];
  const given = (async function* () {
    yield* records;
  })();
  const read = async () => {
    for await (const record of gate.pass(given, asSeq(after))) passed.push(record);
  };
  await read().catch((error: unknown) => {
    if (!gate.halt) throw error;
  });
  return { passed, halt: gate.halt };
}

const textIn = (records: readonly InputRecord[]) =>
  records.map(({ entry }) => (entry.type === "input.delta" ? entry.text : "|")).join("");

describe("the gate of an input", () => {
  test.each([
    ["a match within a record", ["my secret plan is", END], "my * is|"],
    ["a match over records", ["my se", "cret pl", "an is", END], "my * is|"],
    ["two matches that overlap", ["secret p", "lan b!", END], "*!|"],
    [
      "what only begins like a match",
      ["my secret ", "plane? no: secret p", "ie", END],
      "my *e? no: secret pie|",
    ],
    [
      "half a match before a commit, and never the whole",
      ["the secret ", COMMIT, "plan is", END],
      "the secret |* is|",
    ],
    ["a word that begins where a message does", ["x", COMMIT, "falcon", COMMIT, "y", END], "x|*|y|"],
    ["a word within a message", ["x", COMMIT, "a falcon is", COMMIT, "falcon", END], "x|a * is|*|"],
    ["a word that begins after what was taken back", ["x", CLEAR, "fal", "con", END], "x|*|"],
    ["a number that begins where a message does", ["7", COMMIT, "4111 1111 1111 1111", END], "7|*|"],
    ["what a rule flags", ["maybe", END], "maybe|"],
  ] as [string, (string | InputEntry)[], string][])("passes %s", async (_name, entries, expected) => {
    const given = entries.map((entry) => (typeof entry === "string" ? typed(entry) : entry));
    expect(textIn((await pass(toRecords(given))).passed)).toBe(expected);
  });

  test("passes nothing of a record that could still match, and nothing after a match that halts", async () => {
    expect(textIn((await pass(toRecords(["so: ", "a sec"].map(typed)))).passed)).toBe("so: ");
    const { passed, halt } = await pass(toRecords(["so: ", "a bo", "mb", " and"].map(typed)));
    expect(textIn(passed)).toBe("so: ");
    expect(halt).toMatchObject({ rule: "weapons", category: "violence" });
  });

  test("passes a long record without its matches, wherever they are", async () => {
    const parts = [`falcon ${"-".repeat(2_000)}`, "a secret plan", "-".repeat(2_000), "falcon"];
    const { passed } = await pass(toRecords([typed("x"), COMMIT, typed(parts.join(" ")), END]));
    expect(textIn(passed)).toBe(`x|* ${parts[2]} a * ${parts[2]} *|`);
  });

  test("passes the same text however it is cut into records", async () => {
    const word = fc.constantFrom("secret", " pl", "an b", "sec", "ret plan", " plan b", "x");
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        async (words, sizes) => {
          const text = words.join("");
          const pieces: string[] = [];
          for (let at = 0; at < text.length; at += pieces.at(-1)!.length)
            pieces.push(text.slice(at, at + sizes.next().value));
          const whole = await pass(toRecords([typed(text), END]));
          const cut = await pass(toRecords([...pieces.map(typed), END]));
          expect(textIn(cut.passed)).toBe(textIn(whole.passed));
        },
      ),
    );
  });

  test("passes the same after any entry as from the beginning", async () => {
    const entry = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom("secret", " pl", "an b", "sec", "ret plan", "x", "maybe").map(typed),
      },
      { weight: 1, arbitrary: fc.constantFrom(COMMIT, { type: "input.clear" } as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 16 }), fc.nat(), async (entries, place) => {
        const records = toRecords([...entries, END]);
        const { passed: whole } = await pass(records);
        const after: Seq = whole.at(place % whole.length)!.seq;
        const { passed: rest } = await pass(records, { after });
        expect(rest).toEqual(whole.filter(({ seq }) => seq > after));
        expect(textIn(whole).replaceAll("|", "")).not.toMatch(/secret plan|plan b/);
        expect(whole.filter((one) => one.entry.type !== "input.delta")).toEqual(
          records.filter((one) => one.entry.type !== "input.delta"),
        );
      }),
    );
  });
});

describe("a worker", () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Creates a generation whose input is complete, each entry in a record of its own. */
  async function submit(
    entries: readonly InputEntry[],
    { replacement = "[redacted]", ...history }: Submission & { replacement?: string } = {},
  ) {
    const { log, broker } = world;
    const ruleSet = await createRuleSetStore(log.publish, 60_000).keep(TENANT, RULES);
    const ref = await world.submit({
      request: { input: [], input_stream: { format: "text" } },
      policy: moderatedPolicy({ mode: "observe", rule_set: ruleSet, input: "gate", replacement }),
      ...history,
    });
    const writer = new InputWriter({
      publish: log.publish,
      reads: broker.reads,
      ref,
      budgetMs: log.budgetMs,
    });
    for (const [i, entry] of entries.entries()) await writer.append(asSeq(i + 1), [entry]);
    return ref;
  }
  const engine = createSimEngine();

  test("gives the model the replacement of a match that is cut over records", async () => {
    const ref = await submit([typed("the sec"), typed("ret plan"), typed(" is off"), END]);
    expect(await world.run(ref, engine)).toBe("completed");
    expect(textOf(await world.read(ref))).toBe("the [redacted] is off");
  });

  test("consumes what a rule takes out as a whole: its client may send more", async () => {
    const ref = await submit([typed("secret plan"), COMMIT, END], { replacement: "" });
    expect(await world.run(ref, engine)).toBe("completed");
    const events = await world.read(ref);
    expect([textOf(events), transcriptOf(events).consumed]).toEqual(["", 1]);
  });

  test("ends the generation as filtered, and what was said before remains", async () => {
    const ref = await submit([typed("so, "), typed("a bo"), typed("mb"), END]);
    expect(await world.run(ref, engine)).toBe("completed");
    const events = await world.read(ref);
    expect(typesOf(events).slice(1)).toEqual([
      "generation.started",
      "output.delta",
      "moderation.halted",
      "generation.completed",
    ]);
    expect(textOf(events)).toBe("so, ");
    expect(events.at(-2)).toMatchObject({ rule: "weapons", from_seq: 3, replacement: "" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "content_filter" });
  });

  test("continues after another one in the middle of a match", async () => {
    const history = [started(1), { ...delta("the secret "), consumed: asSeq(2) }];
    const ref = await submit([typed("the "), typed("secret "), COMMIT, typed("plan"), typed(" is"), END], {
      history,
    });
    expect(await world.run(ref, engine)).toBe("completed");
    expect(textOf(await world.read(ref))).toBe("the secret [redacted] is");
  });

  test("gives the model nothing if the rules are not kept", async () => {
    const ref = await submit([typed("x"), END], {
      policy: moderatedPolicy({ mode: "observe", rule_set: "f".repeat(26), input: "gate" }),
    });
    expect(await world.run(ref, engine)).toBe("failed");
    expect((await world.read(ref)).at(-1)).toMatchObject({ error: { code: "moderation_unavailable" } });
  });
});
