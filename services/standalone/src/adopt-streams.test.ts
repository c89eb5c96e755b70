import { connect } from "@nats-io/transport-node";
import { createPasswordUsers, findNatsServer, startNatsServer } from "@reprise/service";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { fileURLToPath } from "node:url";
import { adoptStreams } from "./adopt-streams.ts";

const DATA_DIR = fileURLToPath(new URL("../../../.reprise", import.meta.url));

test("the streams of a folder whose server had no accounts are the platform's", async () => {
  await using dir = await createTempDir("adopt-streams");
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
  const settings = { binary: path, storeDir: dir.path };
  await adoptStreams(dir.path);
  {
    await using server = await startNatsServer(settings);
    const connection = await connect({ servers: server.url });
    await connection.request(
      "$JS.API.STREAM.CREATE.KEPT",
      JSON.stringify({ name: "KEPT", subjects: ["kept"] }),
    );
    await connection.request("kept", "before");
    await connection.close();
  }
  const { accounts, urlFor } = createPasswordUsers({ shards: 1 });
  for (let start = 0; start < 2; start++) {
    await adoptStreams(dir.path);
    await using server = await startNatsServer({ ...settings, extraConfig: { accounts } });
    const connection = await connect({ servers: urlFor("admin", server.url) });
    const kept = await connection.request("$JS.API.STREAM.MSG.GET.KEPT", JSON.stringify({ seq: 1 }));
    expect(kept.json()).toMatchObject({ message: { subject: "kept", data: btoa("before") } });
    await connection.close();
  }
});
