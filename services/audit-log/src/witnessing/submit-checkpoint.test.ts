import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { COSIGNATURE, cosign, createNoteKey, openNote, parseNote, signNote } from "@reprise/archive";
import { describe, expect, it, test } from "vitest";
import { createHistory, LOG, ORIGIN } from "@reprise/archive/testing";
import { submitCheckpoint } from "./submit-checkpoint.ts";

const history = createHistory("leaf", 50);
const witnessKey = createNoteKey("witness", Buffer.alloc(32, 4), COSIGNATURE);
const note = history.note(20);
const COSIGNED = cosign(parseNote(note).text, witnessKey, 1_795_000_000);

interface Answer {
  status: number;
  body?: string;
}

/** A witness that answers what it is told to, one request after the other; and never, when there is nothing left. */
async function startScripted(answers: Answer[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.setEncoding("utf8").once("data", (body: string) => {
      asked.push(body.slice(0, body.indexOf("\n")));
      const answer = answers.shift();
      if (answer) response.writeHead(answer.status).end(answer.body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    submit: (seenSize = 0, timeoutMs = 60_000) =>
      submitCheckpoint({
        url: `http://127.0.0.1:${port}/`,
        origin: ORIGIN,
        note,
        size: 20,
        hashes: history.hashes,
        seenSize,
        timeoutMs,
        signal: new AbortController().signal,
      }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

describe("submitting a checkpoint", () => {
  it("begins again from what the witness says that it has seen", async () => {
    await using witness = await startScripted([
      { status: 409, body: "7\n" },
      { status: 409, body: "9\n" },
      { status: 200, body: COSIGNED },
    ]);
    expect(await witness.submit(3)).toEqual({ kind: "cosigned", lines: COSIGNED });
    expect(witness.asked).toEqual(["old 3", "old 7", "old 9"]);
  });

  it("tells a witness that has seen more from one that has seen others", async () => {
    await using witness = await startScripted([{ status: 409, body: "21\n" }, { status: 422 }]);
    expect(await witness.submit(20)).toEqual({ kind: "ahead", size: 21 });
    expect(await witness.submit(20)).toEqual({ kind: "differs", seenSize: 20 });
  });

  it("takes cosignatures alone: a line in the log's name would make a forgery of the note", async () => {
    const [, forged] = signNote(parseNote(note).text, [LOG]).split("\n\n");
    const other = signNote("other\n", [LOG]).split("\n\n")[1];
    await using witness = await startScripted([
      { status: 200, body: `${forged}${other}${COSIGNED}` },
      { status: 200, body: other! },
    ]);
    const submission = await witness.submit();
    expect(submission).toEqual({ kind: "cosigned", lines: COSIGNED });
    expect(openNote(`${note}${COSIGNED}`, [LOG]).verified).toEqual([LOG]);
    await expect(witness.submit()).rejects.toMatchObject({ code: "config_invalid" });
  });

  test.each([
    [{ status: 200, body: "hello\n" }, "config_invalid"],
    [{ status: 200, body: "x".repeat(100_000) }, "archive_unavailable"],
    [{ status: 403 }, "config_invalid"],
    [{ status: 409, body: "-1\n" }, "config_invalid"],
    [{ status: 307 }, "archive_unavailable"],
    [{ status: 500 }, "archive_unavailable"],
  ])("takes an answer for what it is: %#", async (answer, code) => {
    await using witness = await startScripted([answer]);
    await expect(witness.submit()).rejects.toMatchObject({ code });
  });

  it("waits for no witness longer than it may", async () => {
    await using witness = await startScripted([]);
    await expect(witness.submit(0, 50)).rejects.toMatchObject({ code: "archive_unavailable" });
  });

  it("gives up on one that says something else each time", async () => {
    await using witness = await startScripted(
      Array.from({ length: 20 }, (_, i) => ({ status: 409, body: `${i + 1}\n` })),
    );
    await expect(witness.submit()).rejects.toMatchObject({ code: "archive_unavailable" });
    expect(witness.asked.length).toBeLessThan(10);
  });
});
