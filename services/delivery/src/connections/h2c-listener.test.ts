import { once } from "node:events";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { expect, test } from "vitest";
import { authorization, openPlatform } from "../testing/platform.ts";
import { parseDeliveryEnvironment, toDeliverySettings } from "../config.ts";

test("the port for HTTP/2 in the clear serves the API, and closes other connections and those beyond the bound", async () => {
  await using platform = await openPlatform({ grpcPort: 0, maxConnectionsPerAddress: 2 });
  const { grpcPort = 0 } = platform.node.delivery;
  const session = connect(`http://127.0.0.1:${grpcPort}`);
  const statusOf = async (path: string) => {
    const stream = session.request({ ":path": path, ...authorization() }).resume();
    const [headers] = (await once(stream, "response")) as [{ ":status": number }];
    return headers[":status"];
  };
  expect(await statusOf("/v1/models")).toBe(200);
  expect(await statusOf("/v1/generations/gen_0_none")).toBe(404);
  const open = async () => {
    const socket = connectTcp(grpcPort, "127.0.0.1");
    await once(socket, "connect");
    return { socket: socket.on("error", () => {}).resume(), closed: once(socket, "close") };
  };
  const http1 = await open();
  const beyond = await open();
  await beyond.closed;
  http1.socket.write("GET /v1/models HTTP/1.1\r\nhost: test\r\n\r\n");
  await http1.closed;
  session.close();
});

test("a node without the setting has no such port, and a port that is taken is an error of the setting", async () => {
  await using platform = await openPlatform();
  expect(platform.node.delivery.grpcPort).toBeUndefined();
  const taken = platform.addNode({ grpcPort: Number(new URL(platform.node.url).port) });
  await expect(taken).rejects.toMatchObject({ code: "config_invalid", param: "REPRISE_GRPC_PORT" });
});

test("gRPC in the clear is refused beside TLS", () => {
  const env = { REPRISE_NATS_URL: "nats://127.0.0.1:1", REPRISE_TLS_CERT: "c", REPRISE_TLS_KEY: "k" };
  expect(toDeliverySettings(parseDeliveryEnvironment(env)).grpcPort).toBeUndefined();
  const both = parseDeliveryEnvironment({ ...env, REPRISE_GRPC_PORT: "8081" });
  expect(() => toDeliverySettings(both)).toThrow("With TLS, gRPC is at REPRISE_PORT");
});
