import { Writable } from "node:stream";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runCommand } from "../cli/run-command.ts";
import {
  append,
  authorization,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  started,
} from "../testing/platform.ts";

const LIVE = { liveTenants: true };
const PATH = "/v1/admin/token-keys";
const REFUSED = { event: "error", data: expect.stringContaining('"code":"unauthenticated"') };

/** Two nodes, a generation that has started, and tokens for it that either node mints. */
async function openMinting() {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform(LIVE));
  const other = await platform.addNode(LIVE);
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  const urls = [platform.node.url, other.url];
  const mint = async (url: string) => {
    const body = { scopes: ["read"], ttl_seconds: 3_600 };
    const { json } = await call(`${url}${path}/tokens`, { key: KEYS.acme, body });
    return (json as { token: string }).token;
  };
  const statuses = (key: string) =>
    Promise.all(urls.map(async (url) => (await call(`${url}${path}`, { key })).status));
  const attach = (key: string) =>
    Promise.all(
      urls.map(async (url) => {
        const reader = await openSseReader(`${url}${path}/events`, { headers: authorization(key) });
        expect((await reader.nextFrame())?.id).toBe("1-1");
        return reader;
      }),
    );
  const admin = async (...args: string[]) => {
    let [text, problem] = ["", ""];
    const out = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) });
    const err = new Writable({ write: (chunk, _, done) => ((problem += String(chunk)), done()) });
    const env = { REPRISE_URL: urls[0], REPRISE_ADMIN_KEY: KEYS.operator };
    const code = await runCommand(["token-key", ...args], { out, err, env });
    return { code, text: text.trim(), problem };
  };
  const owned = stack.move();
  return {
    platform,
    urls,
    mint,
    statuses,
    attach,
    admin,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe("the platform's keys of stream tokens", () => {
  test("that are cut off take their tokens and streams along on both nodes, and new tokens of either node count on both", async () => {
    await using world = await openMinting();
    const tokens = await Promise.all(world.urls.map(world.mint));
    expect(await world.statuses(tokens[0]!)).toEqual([200, 200]);
    const readers = [...(await world.attach(tokens[0]!)), ...(await world.attach(tokens[1]!))];
    const own = await world.attach(KEYS.acme);
    const { code, text } = await world.admin("rotate", "--overlap-seconds", "0");
    expect([code, text]).toEqual([0, expect.stringMatching(/^reprise-/)]);
    for (const reader of readers) {
      expect(await reader.ended).toBe("broken");
      expect(reader.frames.at(-1)).toMatchObject(REFUSED);
    }
    for (const token of tokens) expect(await world.statuses(token)).toEqual([401, 401]);
    // Both nodes have broken off streams, so both know the new key.
    for (const url of world.urls) expect(await world.statuses(await world.mint(url))).toEqual([200, 200]);
    expect((await world.admin("list")).text).toBe(`${text}\texpires when it is replaced`);
    for (const reader of own) expect(reader.frames).toHaveLength(1);
  });

  test("that are replaced with an overlap count until it ends, which breaks their streams off", async () => {
    await using world = await openMinting();
    const token = await world.mint(world.urls[0]!);
    const readers = await world.attach(token);
    await world.admin("rotate", "--overlap-seconds", "600");
    expect(await world.statuses(token)).toEqual([200, 200]);
    await world.admin("rotate", "--overlap-seconds", "300", "--json");
    const { json } = await call(`${world.urls[0]}${PATH}`, { key: KEYS.operator });
    const { data } = json as { data: { expires_at: string }[] };
    expect(data).toMatchObject([{ object: "token_key" }, {}, { object: "token_key" }]);
    expect(data[2]).not.toHaveProperty("expires_at");
    expect(JSON.stringify(data)).not.toContain("private");
    expect(await world.statuses(token)).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(data[0]!.expires_at) });
    onTestFinished(() => void vi.useRealTimers());
    for (const reader of readers) {
      await reader.ended;
      expect(reader.frames.at(-1)).toMatchObject(REFUSED);
      expect(reader.frames).toHaveLength(2);
    }
    expect(await world.statuses(token)).toEqual([401, 401]);
  });

  test("are the operator's alone, and an overlap is a number of seconds up to an hour", async () => {
    await using platform = await openPlatform(LIVE);
    const rotate = (key: string, body: object) =>
      call(`${platform.node.url}${PATH}/rotate`, { key, body, method: "POST" });
    expect(await rotate(KEYS.acmeAdmin, {})).toMatchObject({
      status: 403,
      json: { error: { code: "forbidden" } },
    });
    expect(await call(`${platform.node.url}${PATH}`, { key: KEYS.acmeAdmin })).toMatchObject({ status: 403 });
    for (const overlap_seconds of [-1, 0.5, 3_601, "0"])
      expect(await rotate(KEYS.operator, { overlap_seconds })).toMatchObject({
        status: 400,
        json: { error: { code: "invalid_request", param: "overlap_seconds" } },
      });
    const { json } = await call(`${platform.node.url}${PATH}`, { key: KEYS.operator });
    expect(json).toMatchObject({ data: [{ object: "token_key" }] });
    const made = await rotate(KEYS.operator, {});
    expect(made).toMatchObject({
      status: 201,
      json: { object: "token_key", kid: expect.any(String), created_at: expect.any(String) },
    });
    const said = platform.node.logged
      .split("\n")
      .filter((line) => line.includes(`replaced the platform's keys`));
    expect(said).toEqual([expect.stringContaining('"by":"operator"')]);
  });
});
