import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request as httpRequest } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Upstreams } from "./nginx-files.ts";

/** A substitute for delivery, which has no WebSocket: it accepts every upgrade, sends back each byte, and answers 200 to all else. */
export interface UpgradeServer extends AsyncDisposable {
  readonly upstreams: Upstreams;
  /** The headers of requests without an upgrade. */
  readonly plain: readonly IncomingHttpHeaders[];
}

export async function startUpgradeServer(): Promise<UpgradeServer> {
  const plain: IncomingHttpHeaders[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(({ headers }, response) => {
    plain.push(headers);
    response.end("plain");
  });
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.on("upgrade", ({ headers }, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`,
    );
    socket.on("error", () => {}).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const address = `127.0.0.1:${port}`;
  return {
    upstreams: [address, address],
    plain,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Asks for an upgrade. @returns the protocol that it got and what came back for the bytes sent behind it; undefined without an upgrade */
export async function tryUpgrade(
  url: string,
  protocol: string,
  sent: string,
): Promise<{ protocol: string | undefined; echoed: string } | undefined> {
  const request = httpRequest(url, {
    agent: false,
    headers: {
      connection: "Upgrade",
      upgrade: protocol,
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version": "13",
    },
  });
  request.end();
  const upgraded = once(request, "upgrade");
  const answered = once(request, "response").then(([response]) => void response.resume());
  const result = await Promise.race([upgraded, answered]);
  if (result === undefined) return undefined;
  const [response, socket] = result as [{ headers: IncomingHttpHeaders }, Socket];
  socket.write(sent);
  const [echoed] = await once(socket, "data");
  socket.destroy();
  return { protocol: response.headers.upgrade, echoed: String(echoed) };
}
