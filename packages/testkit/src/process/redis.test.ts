import { once } from "node:events";
import { connect } from "node:net";
import type { RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startRedis } from "./redis.ts";

test("Redis answers on its port and is gone after disposal", async ({ skip }) => {
  // On a machine without Redis the report says so; `.ci/run` installs it.
  const redis = await startRedis().catch((error: RepriseError) => skip(error.message));
  const socket = connect(redis.port, "127.0.0.1");
  socket.write("PING\r\n");
  expect(String((await once(socket, "data"))[0])).toBe("+PONG\r\n");
  await Promise.all([once(socket, "close"), redis.stop()]);
  await redis[Symbol.asyncDispose]();
});

test("a Redis that is not there is reported by name", async () => {
  await expect(startRedis({ binary: "no-such-redis" })).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(
      /^no-such-redis did not start \(status 127\); is Redis installed\? To install it: ./,
    ),
  });
});
