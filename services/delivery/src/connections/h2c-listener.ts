import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { toListenError } from "@reprise/runtime";
import { boundConnections, type ConnectionBounds } from "./bound-connections.ts";
import { Http2Connections, type Http2Options } from "./http2.ts";

/** A port for HTTP/2 in the clear, from the first byte on, as gRPC clients without TLS speak it. */
export class H2cListener {
  readonly http2: Http2Connections;
  readonly #server;

  constructor(options: Http2Options, bounds: ConnectionBounds) {
    this.http2 = new Http2Connections(options);
    this.#server = createServer();
    boundConnections(this.#server, bounds);
    this.#server.on("connection", (socket) => {
      if (!socket.destroyed) this.http2.accept(socket);
    });
  }

  /**
   * Returns the port.
   * @throws RepriseError `config_invalid` if it is taken
   */
  async listen(address: { host: string; port: number }): Promise<number> {
    try {
      await once(this.#server.listen(address), "listening");
    } catch (error) {
      throw toListenError(error, "REPRISE_GRPC_PORT");
    }
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no further connection. */
  close(): void {
    this.#server.close();
  }
}
