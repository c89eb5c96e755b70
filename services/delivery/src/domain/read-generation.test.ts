import { Hub, type GenerationLog } from "@reprise/stream";
import { completed } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { nativeSseFraming } from "../readers/streams/native-sse-framing.ts";
import {
  append,
  createGeneration,
  delta,
  deltas,
  openPlatform,
  started,
  toolCall,
} from "../testing/platform.ts";
import { readGeneration } from "./read-generation.ts";
import { showGeneration } from "./shown-generation.ts";

test("a generation that continues is read once, and from memory from then on, with what its log says at every length", async () => {
  await using platform = await openPlatform();
  const { broker, log } = platform;
  const { ref, worker } = await createGeneration(platform, {
    body: { model: "sim", input: "x", metadata: { team: "a" }, response_format: { type: "json_object" } },
  });
  const readLog = vi.fn<GenerationLog["reader"]["readLog"]>((each) => log.reader.readLog(each));
  const own = { ...log, reader: { ...log.reader, readLog } };
  const hub = new Hub({
    connection: broker.main,
    ...own,
    framing: nativeSseFraming,
    onError: (error) => expect.unreachable(String(error)),
  });
  using closing = new DisposableStack();
  closing.defer(() => hub.close());
  const value = [delta('{"a": '), delta("[1, "), delta("2]}")];
  const drafts = [started(), ...value, ...deltas(70), toolCall("call-1")];
  for (const draft of drafts) {
    await append(worker, draft);
    const { events } = await log.reader.readLog(ref);
    expect(await readGeneration({ log: own, hub }, ref)).toEqual(await showGeneration(hub, ref, events));
  }
  expect(readLog).toHaveBeenCalledTimes(1);
  await append(worker, completed());
  expect(await readGeneration({ log: own, hub }, ref)).toMatchObject({ status: "completed" });
  expect(readLog).toHaveBeenCalledTimes(2);
});
