import { asSeq, type EventDraft, type ModerationPolicy } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PNG, upload } from "../../testing/uploads.ts";
import { decide, halted, judge, moderatedBody, redacted } from "../../testing/moderation.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  createTestTenants,
  delta,
  KEYS,
  openPlatform,
  type Platform,
  REQUEST,
  rewind,
  started,
} from "../../testing/platform.ts";

let platform: Platform;
let blob: string;

beforeAll(async () => {
  platform = await openPlatform();
  blob = await stored("made");
});
afterAll(() => platform[Symbol.asyncDispose]());

/** Uploads a blob in place of a worker's output. Its ownership is checked in the worker. */
async function stored(text: string, key: string = KEYS.acmeUploader): Promise<string> {
  const content = Buffer.concat([PNG, Buffer.from(text)]);
  return ((await upload(platform.node.url, { content, type: "image/png", key })).json as { id: string }).id;
}

const made = (): EventDraft => ({
  type: "output.blob",
  kind: "image",
  blob,
  media_type: "image/png",
  bytes: 20,
});

async function begin(moderation?: ModerationPolicy) {
  const body = moderation ? moderatedBody(moderation) : REQUEST;
  const generation = await createGeneration(platform, { body });
  await append(generation.worker, started(), delta("Here: "), made());
  const path = `${platform.node.url}${generation.path}`;
  const get = (id = blob, key: string = KEYS.acme) =>
    fetch(`${path}/blobs/${id}`, { headers: authorization(key) });
  const statusOf = async (id?: string, key?: string) => {
    const response = await get(id, key);
    await response.arrayBuffer();
    return response.status;
  };
  return { ...generation, path, get, statusOf };
}

test("what the shown log names is given as a file to save, while the generation continues and after its end", async () => {
  const { get, path, worker } = await begin();
  const response = await get();
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "image/png",
    "content-disposition": "attachment",
    "content-security-policy": expect.stringContaining("sandbox"),
  });
  expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.concat([PNG, Buffer.from("made")]));
  await append(worker, completed());
  expect((await get()).status).toBe(200);
  expect((await call(path)).json).toMatchObject({
    blobs: [{ seq: 3, kind: "image", blob, media_type: "image/png", bytes: 20 }],
  });
});

test("a token of the generation, and one of its end user, may fetch it; others may not", async () => {
  const { get, path, statusOf } = await begin();
  const other = await begin();
  const mint = async (at: string, body: object) =>
    ((await call(`${at}/tokens`, { body })).json as { token: string }).token;
  const token = await mint(path, { scopes: ["read"] });
  expect((await get(blob, token)).status).toBe(200);
  expect(await other.statusOf(blob, token)).toBe(404);
  expect(await statusOf(blob, await mint(path, { scopes: ["cancel"] }))).toBe(403);
  expect(await statusOf(blob, KEYS.beta)).toBe(404);
  expect(await statusOf(blob, KEYS.acmeUploader)).toBe(403);
});

test("no other blob of the tenant is given by it, nor one that is gone", async () => {
  const { statusOf, worker } = await begin();
  const other = await stored("other");
  expect(await statusOf(other)).toBe(404);
  expect(await statusOf("blob_1")).toBe(404);
  await append(worker, { ...made(), blob: other } as EventDraft);
  expect(await statusOf(other)).toBe(200);
  const deleted = await fetch(`${platform.node.url}/v1/blobs/${other}`, {
    method: "DELETE",
    headers: authorization(KEYS.acmeUploader),
  });
  expect(deleted.status).toBe(204);
  expect(await statusOf(other)).toBe(404);
});

test("one that was rewound is not there", async () => {
  const { statusOf, worker } = await begin();
  await append(worker, rewind(2));
  expect(await statusOf()).toBe(404);
});

test("gate: it is given once it is cleared, and not before", async () => {
  const { ref, statusOf } = await begin({ mode: "gate" });
  await judge(platform, ref, 3, { cleared: asSeq(2) });
  expect(await statusOf()).toBe(404);
  await judge(platform, ref, 3);
  expect(await statusOf()).toBe(200);
});

test.each([
  ["a withdrawal", [{ ...redacted(3, 3, ""), channel: "blob" } as EventDraft]],
  ["a halt", [halted(3)]],
] as const)("gate and retract: %s closes it at once, for every node", async (_, decisions) => {
  for (const mode of ["gate", "retract"] as const) {
    const { ref, path, statusOf } = await begin({ mode, media: "review" });
    await judge(platform, ref, 3);
    expect(await statusOf()).toBe(200);
    for (const decision of decisions) await decide(platform, ref, decision);
    await judge(platform, ref, 4, { decided: asSeq(4) });
    await expect.poll(() => statusOf()).toBe(404);
    const fresh = await platform.addNode();
    const late = await fetch(`${path.replace(platform.node.url, fresh.url)}/blobs/${blob}`, {
      headers: authorization(),
    });
    expect(late.status).toBe(404);
    expect((await call(path)).text).not.toContain(blob);
  }
});

test("seq 0 says what the model may make, where the tenant's limits say otherwise than every worker knows", async () => {
  const first = async ({ log }: Platform, { ref }: Awaited<ReturnType<typeof createGeneration>>) =>
    JSON.parse(Buffer.from((await log.reader.readFirst(ref))!.payload).toString()) as {
      blobs?: object;
      events: string[];
    };
  const plain = await first(platform, await createGeneration(platform));
  expect(plain.blobs).toBeUndefined();
  expect(plain.events).toContain("output.blob");
  await using limited = await openPlatform({
    tenants: createTestTenants({ limits: { blobs: { blob_bytes: 1_000, bytes: 9_000 } } }),
  });
  const { blobs } = await first(limited, await createGeneration(limited));
  expect(blobs).toEqual({ max_bytes: 1_000, quota_bytes: 9_000 });
});
