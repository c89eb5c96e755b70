import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileStore, parseNoteKey, verifyArchive } from "@reprise/archive";
import { createSseDecoder, decodeEvent, Transcript } from "@reprise/protocol";
import type { DemoPlatform } from "./demo-platform.ts";
import { isComplete, type KeptRecord, readUntilWhole } from "./kept-record.ts";
import type { ShownGeneration } from "./show-redaction.ts";

interface Output {
  write(text: string): unknown;
}

const CARD = "4111 1111 1111 1111";
/** A batch is sealed after five seconds; a busy machine may take long over it. */
const PATIENCE = { patienceMs: 60_000, pollMs: 250 };

/**
 * The generation whose card number was withdrawn, as the audit log keeps it: who was handed what, what it was before, and that nothing was
 * changed since. Returns whether all of that was seen.
 */
export async function showAudit(
  { url, apiKey, dataDir }: DemoPlatform,
  { id, connections }: ShownGeneration,
  out: Output,
): Promise<boolean> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const get = (path: string, accept: string) =>
    fetch(`${url}/v1/${path}`, { headers: { ...headers, accept } });
  const record = await readUntilWhole({
    async read() {
      const response = await get(`audit/generations/${id}`, "application/json");
      return response.ok ? ((await response.json()) as KeptRecord) : undefined;
    },
    isWhole: (kept) => isComplete(kept, connections),
    ...PATIENCE,
  });
  const shown = await get(`generations/${id}/events`, "text/event-stream");
  const original = await get(`generations/${id}/events?original=true`, "text/event-stream");
  const [shownText, originalText] = [
    textOf(await shown.text(), new Transcript()),
    textOf(await original.text(), new Transcript({ original: true })),
  ];
  const signer = parseNoteKey(await readFile(join(dataDir, "audit-keys", "signing.key"), "utf8"));
  const store = createFileStore(join(dataDir, "audit"));
  const options = { store, name: "reprise", vkeys: [signer], witnesses: [], witnessed: [] };
  const report = await readUntilWhole({
    read: () => verifyArchive(options),
    // The last commit is signed after it is stored.
    isWhole: ({ verdict }) => verdict !== "unknown",
    ...PATIENCE,
  });

  const rows: [name: string, ok: boolean, text: string][] = [
    [
      "kept for auditors",
      isComplete(record, connections),
      `${record?.events} events; ${record?.readers.length} connections, and what each was handed`,
    ],
    ["what a reader is shown", !shownText.includes(CARD), shownText],
    ["what it was, with the role audit", originalText.includes(CARD), originalText],
    [
      "is the archive as it was written?",
      report.verdict === "fine",
      `${report.verdict}: ${report.events} events under ${report.commits} commits`,
    ],
  ];
  out.write("\n");
  for (const [name, ok, text] of rows)
    out.write(`  ${name.padEnd(42)}${ok ? "" : "NOT as it should be: "}${text}\n`);
  return rows.every(([, ok]) => ok);
}

function textOf(stream: string, transcript: Transcript): string {
  for (const { data } of createSseDecoder().push(Buffer.from(stream)))
    if (data !== "") transcript.apply(decodeEvent(data));
  return transcript.text;
}
