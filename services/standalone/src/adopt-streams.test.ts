import { fileURLToPath } from "node:url";
import { connectBroker } from "@reprise/broker";
import { createPasswordUsers, findNatsServer, startNatsServer } from "@reprise/runtime";
import { createTempDir, PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { adoptStreams } from "./adopt-streams.ts";

const DATA_DIR = fileURLToPath(new URL("../../../.reprise", import.meta.url));
const OLD = { user: "admin", password: "of before" };
const name = "adopt-streams";
const patiently = { timeout: PATIENCE_MS };

test("the streams of a folder whose server had no accounts are the platform's", async () => {
  await using dir = await createTempDir(name);
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
  const settings = { binary: path, storeDir: dir.path };
  await adoptStreams(dir.path);
  {
    await using server = await startNatsServer({
      ...settings,
      extraConfig: { authorization: { users: [OLD] } },
    });
    const old = await connectBroker({ name, url: server.url, access: OLD });
    const stream = { name: "KEPT", subjects: ["kept"] };
    await old.main.request("$JS.API.STREAM.CREATE.KEPT", JSON.stringify(stream), patiently);
    await old.main.request("kept", "before", patiently);
    await old.close();
  }
  const { accounts, urlFor } = createPasswordUsers({ shards: 1 });
  for (let start = 0; start < 2; start++) {
    await adoptStreams(dir.path);
    await using server = await startNatsServer({ ...settings, extraConfig: { accounts } });
    const admin = await connectBroker({ name, url: urlFor("admin", server.url) });
    const get = "$JS.API.STREAM.MSG.GET.KEPT";
    const kept = await admin.main.request(get, JSON.stringify({ seq: 1 }), patiently);
    expect(kept.json()).toMatchObject({ message: { subject: "kept", data: btoa("before") } });
    await admin.close();
  }
});
