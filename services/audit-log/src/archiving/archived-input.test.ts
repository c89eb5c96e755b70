import { ArchiveReader } from "@reprise/archive";
import { asSeq, type GenerationRef, type InputEntry, inputStreamOf } from "@reprise/protocol";
import { InputWriter } from "@reprise/stream";
import { completed, createRef, delta, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { eraseSubject } from "../lifecycle/erasure/erase.ts";
import { filesWith, readableTexts, streamsWith } from "../testing/search-stores.ts";
import {
  archivedUpTo,
  findingsIn,
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../testing/worlds/lifecycle-world.ts";

const SECRET = "what-the-person-has-said";
const OTHER = "what-another-one-has-said";

async function writeInput({ live }: LifecycleWorld, ref: GenerationRef, entries: readonly InputEntry[]) {
  const { publish, budgetMs } = live.log;
  const writer = new InputWriter({ publish, reads: live.broker.reads, ref, budgetMs });
  for (const [i, entry] of entries.entries()) await writer.append(asSeq(i + 1), [entry]);
}

test("input is archived as it was sent, and erased with its generation, in the broker's files too", async () => {
  await using world = await openLifecycleWorld();
  const { live } = world;
  await using archiver = await world.startArchiver();
  const [ref, other] = [createRef(), createRef()];
  const request = { input: [], input_stream: { format: "text" as const } };
  for (const [of, said] of [
    [ref, SECRET],
    [other, OTHER],
  ] as const) {
    await writeLog(live.log, of, request, [started(), delta("yes"), completed()]);
    await writeInput(world, of, [
      { type: "input.delta", text: said },
      { type: "input.commit" },
      { type: "input.audio", audio: Buffer.from(`${said} aloud`) },
      { type: "input.end" },
    ]);
    await archivedUpTo(world, `${said} aloud`);
  }
  const reader = new ArchiveReader(archiver);
  const said = [];
  for await (const { entry } of reader.inputOf(ref))
    said.push(entry.type === "input.delta" ? entry.text : entry.type);
  expect(said).toEqual([SECRET, "input.commit", "input.audio", "input.end"]);
  expect(await streamsWith(live.broker, SECRET)).toEqual([`${inputStreamOf(ref.generation)} 8`]);

  const { tenant, generation } = ref;
  const asked = { tenant, generation, by: "operator", reason: "asked for" };
  const outcome = await eraseSubject(await world.openContext(), asked, { settleMs: SETTLE_MS });
  expect(outcome).toMatchObject({ kind: "erased" });
  const last = createRef();
  await writeInput(world, last, [{ type: "input.delta", text: "the last one" }]);
  await archivedUpTo(world, "the last one");
  await archiver.stop();

  const { keyring } = await world.openContext();
  const texts = await readableTexts(world.store, keyring);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
  expect(texts.filter((text) => text.includes(OTHER)).length).toBeGreaterThan(0);
  expect(await streamsWith(live.broker, SECRET)).toEqual([]);
  expect(await filesWith(world.dir, SECRET)).toEqual([]);
  await expect.poll(() => filesWith(world.server.storeDir, SECRET)).toEqual([]);
  expect(await findingsIn(world)).toEqual([]);
  expect(world.errors).toEqual([]);
});
