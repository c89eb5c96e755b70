import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "../../children/serve-parent.ts";
import { createIo } from "./create-io.ts";

const io = await createIo();
const server = createServer();
io.attach(server);
io.on("connection", (socket) => {
  void socket.join(socket.handshake.query["room"] as string);
});

serveParent({
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
});
