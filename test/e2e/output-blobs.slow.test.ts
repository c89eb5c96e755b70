import { createHash } from "node:crypto";
import { createClient } from "@reprise/client";
import { expect, test } from "vitest";
import { reprise, untilArchived } from "./testing/archive.ts";
import { startCluster } from "./testing/cluster.ts";
import { PATIENT, TENANT, untilJudged } from "./testing/moderated.ts";

/* An image that a model makes, through every service, each with the rights of its own user. */

const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(2_000, 7)]);
const REQUEST = {
  model: "sim",
  input: "Draw it.",
  options: {
    says: [{ type: "blob", kind: "image", media_type: "image/png", data: PNG.toString("base64") }],
    chunks: ["Here ", "it is."],
    tokens_per_second: 0,
  },
};
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const MODES = [
  ["off", undefined, true],
  ["observe", undefined, true],
  ["retract", undefined, true],
  ["retract", "withhold", false],
  ["gate", undefined, false],
  ["gate", "allow", true],
] as const;

test("readers of any node fetch what a model has made where the mode lets them, and a gate lets them only where its policy says so", async () => {
  await using cluster = await startCluster();
  const [{ url }, other] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startModeration(),
    cluster.startAuditLog(),
    cluster.startWorker(),
  ]);
  const apiKey = cluster.keys[TENANT]!;
  const headers = { authorization: `Bearer ${apiKey}` };
  const { generations } = createClient({ url, apiKey });
  const told: { name: string; id: string; blob: string; isShown: boolean }[] = [];
  for (const [mode, media, isShown] of MODES) {
    const moderation = { mode, ...(media && { media }), ...PATIENT };
    const { id } = await generations.create({ ...REQUEST, policy: { moderation } });
    const { text } = await generations.stream(id).done();
    if (mode !== "off") await untilJudged(cluster, id);
    const events = await cluster.untilLog(TENANT, id, () => true);
    const made = events.find((event) => event.type === "output.blob");
    expect([mode, text, made?.bytes]).toEqual([mode, "Here it is.", PNG.length]);

    const got = await generations.get(id);
    expect([mode, media, got.blobs?.map(({ blob }) => blob) ?? []]).toEqual([
      mode,
      media,
      isShown ? [made?.blob] : [],
    ]);
    const minted = await fetch(`${url}/v1/generations/${id}/tokens`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ scopes: ["read"] }),
    });
    const { token } = (await minted.json()) as { token: string };
    for (const base of [url, other.url]) {
      const response = await fetch(`${base}/v1/generations/${id}/blobs/${made?.blob}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const content = new Uint8Array(await response.arrayBuffer());
      const expected = isShown ? [200, sha256(PNG)] : [404, sha256(content)];
      expect([mode, media, response.status, sha256(content)]).toEqual([mode, media, ...expected]);
    }
    told.push({ name: `${mode}, ${media}`, id, blob: made!.blob!, isShown });
  }

  await untilArchived(cluster);
  for (const { name, id, blob, isShown } of told) {
    const replayed = await reprise(cluster, "replay", "--generation", id, "--format", "json");
    expect([name, replayed.includes(blob)]).toEqual([name, isShown]);
  }
});
