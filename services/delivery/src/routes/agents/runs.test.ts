import type { GenerationRef } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { expire, openAuditedPlatform, purge } from "../../testing/audited-platform.ts";
import {
  append,
  call,
  completed,
  createGeneration,
  KEYS,
  openPlatform,
  type Platform,
  started,
} from "../../testing/platform.ts";
import { AG_UI, INPUT, openRun, refusedRun, TANSTACK, workOn } from "./agents.fixture.ts";

const scopes = ["create", "read", "cancel"];

/** A token of the platform's own. */
async function mint({ node }: Platform, at: string, body: object): Promise<string> {
  const { status, json } = await call(`${node.url}${at}`, { body });
  expect(status).toBe(201);
  return (json as { token: string }).token;
}

/** A run that has ended. */
async function endedRun(platform: Platform, path: string, key: string = KEYS.acme): Promise<GenerationRef> {
  await using reader = await openRun(platform.node, path, { key });
  const { worker, ref } = await workOn(platform, reader);
  await append(worker, started(), completed());
  expect(await reader.ended).toBe("clean");
  return ref;
}

/** Collects the answers to a caller for each name of a run: by `runId`, as a stream and as a page, and the stop of its thread. */
async function answers(url: string, path: string, run: { runId: string; threadId: string }, key: string) {
  const read = `${url}${path}?runId=${run.runId}`;
  const got = [
    await call(read, { key, headers: { accept: "text/event-stream" } }),
    await call(read, { key, headers: { accept: "application/json" } }),
    await call(`${url}${path}/${run.threadId}/stop`, { key, method: "POST" }),
  ];
  return got.map(({ status, json }) => [status, json]);
}

const RUN = { runId: "r1", threadId: "t1" };
const NONE = { runId: "r9", threadId: "t9" };

describe.each([TANSTACK, AG_UI])("a run of %s that is out of a token's reach", (path) => {
  test("is answered like one that does not exist, also once it is no longer kept", async () => {
    await using platform = await openAuditedPlatform();
    const shown = await createGeneration(platform);
    const spectator = await mint(platform, `${shown.path}/tokens`, { scopes: ["read", "cancel"] });
    const ref = await endedRun(platform, path);
    const none = await answers(platform.node.url, path, NONE, spectator);
    const unknown = { error: { code: "generation_not_found", param: "runId" } };
    expect(none).toMatchObject([
      [404, unknown],
      [404, unknown],
      [204, ""],
    ]);
    expect(await answers(platform.node.url, path, RUN, spectator)).toEqual(none);
    await expire(platform, ref);
    const later = await platform.addNode();
    expect(await answers(later.url, path, RUN, spectator)).toEqual(none);
    await purge(platform, ref);
    const last = await platform.addNode();
    expect(await answers(last.url, path, RUN, spectator)).toEqual(none);
  });

  test("is for an end user one of hers that is no longer kept", async () => {
    await using platform = await openAuditedPlatform();
    const ann = await mint(platform, "/v1/tokens", { scopes, end_user: "ann" });
    const ref = await endedRun(platform, path, ann);
    const none = await answers(platform.node.url, path, NONE, ann);
    expect((await answers(platform.node.url, path, RUN, ann))[0]?.[0]).toBe(200);
    await purge(platform, ref);
    const later = await platform.addNode();
    expect(await answers(later.url, path, RUN, ann)).toEqual(none);
  });
});

describe.each([TANSTACK, AG_UI])("a name of %s", (path) => {
  test.each(["runId", "threadId"])("is well-formed text: %s", async (field) => {
    await using platform = await openPlatform();
    const body = JSON.stringify({ ...INPUT, [field]: "s\ud800-x" });
    const { status, json } = await call(`${platform.node.url}${path}`, { body });
    expect([status, json]).toMatchObject([400, { error: { code: "invalid_request", param: field } }]);
  });
});

describe.each([TANSTACK, AG_UI])("a run of %s without a model", (path) => {
  const body = { forwardedProps: {} };

  async function modelOf({ node }: Platform, key?: string): Promise<unknown> {
    await using reader = await openRun(node, path, { body, ...(key !== undefined && { key }) });
    const id = String(reader.headers["reprise-generation-id"]);
    const { json } = await call(`${node.url}/v1/generations/${id}`);
    return (json as { model: unknown }).model;
  }

  test("gets the only one that its caller may use", async () => {
    await using platform = await openPlatform();
    expect(await modelOf(platform)).toBe("sim");
  });

  test("gets that of its token's template, and is refused if there are several", async () => {
    await using platform = await openPlatform({ models: new Set(["sim", "other"]) });
    const template = { model: "other" };
    const token = await mint(platform, "/v1/tokens", { scopes, end_user: "ann", template });
    expect(await modelOf(platform, token)).toBe("other");
    expect(await refusedRun(platform.node, path, { body })).toMatchObject({
      status: 400,
      json: { error: { param: "forwardedProps.model" } },
    });
  });
});
