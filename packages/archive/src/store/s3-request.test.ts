import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { startS3Server } from "../testing/s3-server.ts";
import { createS3Sender } from "./s3-request.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test.for(["hang", "after-hang", "cut", "cut-body"] as const)(
  "a request that meets %s ends in time, however often garbage is collected meanwhile",
  async (fault) => {
    await using server = await startS3Server({ fault: () => fault });
    const send = createS3Sender(server, 200);
    const collecting = setInterval(collectGarbage, 10);
    try {
      const sent = send({ method: "PUT", address: `${server.url}/k`, body: Buffer.from("x") });
      await expect(sent).rejects.toMatchObject({ code: "archive_unavailable" });
    } finally {
      clearInterval(collecting);
    }
  },
);
