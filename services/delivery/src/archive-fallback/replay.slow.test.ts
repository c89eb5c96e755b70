import { describe, expect, test } from "vitest";
import {
  type AuditedPlatform,
  expire,
  forget,
  forgetBeginning,
  openAuditedPlatform,
} from "../testing/audited-platform.ts";
import { dechunk } from "../testing/http-chunks.ts";
import { halted, redacted } from "../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  KEYS,
  type Node,
  openWorker,
  started,
  toolCall,
} from "../testing/platform.ts";
import { openRawConnection, rawGet } from "../testing/raw-connection.ts";

const key = KEYS.acmeAuditor;
const JSON_ACCEPT = { accept: "application/json" };

/** An answer to a stream as its bytes came, but for the date and the request's id. */
async function streamBytes(node: Node, path: string, headers: Record<string, string> = {}, as: string = key) {
  await using connection = await openRawConnection(node.url);
  const close = { connection: "close", accept: "text/event-stream" };
  connection.send(rawGet(path, { ...authorization(as), ...close, ...headers }));
  await connection.ended;
  return connection.text.replace(/^(date|x-request-id): .*\r\n/gim, "");
}

/** Several attempts, a takeover, a tool, and a passage withdrawn after the end: archived, and expired from the live log in `node`. */
async function writeEventful(platform: AuditedPlatform) {
  const made = await createGeneration(platform);
  const { ref, worker } = made;
  await append(worker, started(), ...deltas(30), toolCall("c1"), {
    type: "tool.result",
    call_id: "c1",
    output: 1,
  });
  await append(worker, started(2), ...deltas(10, 31), completed());
  await append(await openWorker(platform.log, ref), redacted(5, 8));
  await platform.audit.archive(ref);
  return made;
}

describe("a replay", () => {
  test.each([
    ["forgotten", forget],
    ["expired", expire],
    ["without its beginning", forgetBeginning],
  ])(
    "of a generation that is %s has the bytes of the live stream, from wherever it begins",
    async (_what, take) => {
      await using platform = await openAuditedPlatform();
      const { path, ref } = await writeEventful(platform);
      const resumes = ["", "0-0", "1-1", "1-17", "1-33", "2-34", "2-43", "2-45", "2-46"];
      const read = (node: Node) =>
        Promise.all(
          resumes.flatMap((cursor) => [
            streamBytes(node, `${path}/events?after=${cursor}`),
            streamBytes(node, `${path}/events`, { "last-event-id": cursor }),
          ]),
        );
      const live = await read(platform.node);
      await take(platform, ref);
      const replayed = await read(await platform.addNode());
      expect(replayed).toEqual(live);
      expect(live.at(-1)).toMatch(/^HTTP\/1.1 204 /);
      expect(live[0]).toContain('"redacted":true');
      expect(platform.audit.calls.length).toBeGreaterThan(0);
    },
  );

  test("of many pages is one stream, and pages of any size add up to it", async () => {
    await using platform = await openAuditedPlatform();
    const { path, worker, ref } = await createGeneration(platform);
    await append(
      worker,
      started(),
      ...Array.from({ length: 40 }, () => delta("x".repeat(30_000))),
      completed(),
    );
    const live = await streamBytes(platform.node, `${path}/events`);
    await platform.audit.archive(ref);
    await forget(platform, ref);
    const node = await platform.addNode();
    expect(await streamBytes(node, `${path}/events`)).toBe(live);
    const seen: unknown[] = [];
    for (let cursor = "", ended = false; !ended;) {
      const url = `${node.url}${path}/events?after=${cursor}&limit=9`;
      const { json } = await call(url, { key, headers: JSON_ACCEPT });
      const page = json as { events: unknown[]; cursor: string; ended: boolean };
      seen.push(...page.events);
      ({ cursor, ended } = page);
    }
    expect(seen).toHaveLength(42);
  });

  test("pages and the generation itself read as they did", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref } = await writeEventful(platform);
    const read = async ({ url }: Node) => {
      const answers = [await call(`${url}${path}`, { key })];
      for (const query of ["", "?after=1-20&limit=5", "?after=2-46", "?after=2-45&wait=1000"])
        answers.push(await call(`${url}${path}/events${query}`, { key, headers: JSON_ACCEPT }));
      return answers.map(({ status, headers, text }) => {
        const { date: _date, "x-request-id": _id, ...said } = Object.fromEntries(headers);
        return { status, text, said };
      });
    };
    const live = await read(platform.node);
    await forget(platform, ref);
    expect(await read(await platform.addNode())).toEqual(live);
    expect(live.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test.each(["1-34", "2-47", "2-33", "1-0", "0-1", "7-200"])(
    "is refused for a cursor that is not of the log: %s",
    async (cursor) => {
      await using platform = await openAuditedPlatform();
      const { path, ref } = await writeEventful(platform);
      await forget(platform, ref);
      const answer = await call(`${platform.node.url}${path}/events?after=${cursor}`, { key });
      expect([answer.status, answer.json]).toMatchObject([
        400,
        { error: { code: "cursor_invalid", param: "after" } },
      ]);
    },
  );

  test("tells a cursor of lost events from one that never was", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    const lostAndStarted = {
      type: "generation.started",
      attempt: 2,
      worker: "w",
      model: "sim",
      reason: "log_lost",
    } as const;
    await append(worker, started(), delta("a"), lostAndStarted, completed());
    await platform.audit.archive(ref);
    await forget(platform, ref);
    const { json } = await call(`${platform.node.url}${path}/events`, {
      key,
      headers: { "last-event-id": "1-4" },
    });
    expect(json).toMatchObject({ error: { code: "events_lost", param: "Last-Event-ID" } });
  });

  test("of a generation that has not ended breaks off, says when to come back, and continues from there", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"));
    await platform.audit.archive(ref);
    const read = async (after: string) => {
      const text = await streamBytes(platform.node, `${path}/events?original=true&after=${after}`);
      return text.slice(text.indexOf("\r\n\r\n") + 4);
    };
    const { body, complete } = dechunk(Buffer.from(await read("0-0")));
    expect(complete).toBe(false);
    expect(body.toString()).toMatch(
      /^id: 1-2\n.*\n\nretry: 5000\nevent: error\ndata: .*"audit_unavailable".*"retryable":true/m,
    );
    const again = await call(`${platform.node.url}${path}/events?original=true&after=1-2`, { key });
    expect([again.status, again.headers.get("retry-after")]).toEqual([503, "5"]);
    const page = await call(`${platform.node.url}${path}/events?original=true&after=1-2`, {
      key,
      headers: JSON_ACCEPT,
    });
    expect(page.json).toMatchObject({ error: { code: "audit_unavailable" } });
    await append(worker, completed());
    await platform.audit.archive(ref);
    expect(dechunk(Buffer.from(await read("1-2")))).toMatchObject({ complete: true });
  });

  test("that the archive breaks off in the middle is broken, never ended", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await append(
      worker,
      started(),
      ...Array.from({ length: 20 }, () => delta("x".repeat(30_000))),
      completed(),
    );
    await platform.audit.archive(ref);
    await forget(platform, ref);
    const { calls } = platform.audit;
    platform.audit.intercept = () => {
      if (calls.length > 2) throw new Error("the archive is gone");
    };
    platform.audit.onDefect = () => {};
    const text = await streamBytes(platform.node, `${path}/events`);
    const { body, complete } = dechunk(Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4)));
    expect(complete).toBe(false);
    expect(body.toString()).toMatch(/\n\nevent: error\ndata: {"error":{"code":"internal".*\n\n$/);
  });

  test("shows withdrawn text and the request only as original", async () => {
    await using platform = await openAuditedPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), delta("secret"), halted(2), completed());
    await platform.audit.archive(ref);
    const text = async (query: string) => (await call(`${platform.node.url}${path}${query}`, { key })).text;
    expect(await text("/events")).not.toContain("secret");
    const original = await text("/events?original=true");
    expect(original).toMatch(/^retry: 250\nid: 0-0\ndata: {"seq":0,"type":"generation.requested"/);
    expect(original).toContain('"text":"secret"');
    expect(await text("/events?original=true&after=0-0")).not.toContain("generation.requested");
    expect(JSON.parse(await text(""))).toMatchObject({ text: "[halted]" });
    expect(JSON.parse(await text("?original=true"))).toMatchObject({ text: "secret", cursor: "1-4" });
  });
});
