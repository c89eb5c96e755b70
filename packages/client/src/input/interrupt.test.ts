import { expect, it } from "vitest";
import { createTestClient } from "../testing/test-runtime.ts";
import { interrupt } from "./interrupt.ts";

it("names the last event that a stream has handed out, or the beginning", async () => {
  const calls: [string, unknown][] = [];
  const client = createTestClient("http://platform.test", {
    fetch: async (url, { body }) => {
      calls.push([url, JSON.parse(body as string)]);
      return new Response("{}", { status: 200 });
    },
  });
  await interrupt(client, { id: "gen_0_1", cursor: "1.00000a-3" });
  await interrupt(client, { id: "gen_0_1" });
  await expect(interrupt(client, { id: undefined })).rejects.toMatchObject({ code: "invalid_request" });
  const path = "http://platform.test/v1/generations/gen_0_1/interrupt";
  expect(calls).toEqual([
    [path, { heard: "1.00000a-3" }],
    [path, { heard: "0-0" }],
  ]);
});
