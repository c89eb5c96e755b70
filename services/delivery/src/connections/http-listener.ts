import { Server as TlsServer } from "node:tls";
import { retry } from "@reprise/async";
import { type Logger, type Metrics, toListenError } from "@reprise/runtime";
import type { FastifyInstance } from "fastify";
import type { ConnectionBounds } from "./bound-connections.ts";
import { type Certificate, type CertificateFiles, CertificateWatch } from "./certificate.ts";
import { refuseConnectStream } from "./client-error.ts";
import { H2cListener } from "./h2c-listener.ts";
import { Http2Connections, type Http2Options } from "./http2.ts";
import { ARRIVAL_MS, MAX_HEADER_BYTES } from "./request-bounds.ts";
import { TlsConnections } from "./tls-connections.ts";
import { type Answers, watchResponses } from "./unsent-responses.ts";

export interface HttpListenerOptions {
  /** Files of the certificate that the server speaks TLS with; undefined: plain HTTP. */
  readonly tls: CertificateFiles | undefined;
  readonly certificate: Certificate | undefined;
  /** Milliseconds between two reads of the certificate files. Default 10 s. */
  readonly certificateCheckMs?: number | undefined;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. Default 60 s. */
  readonly arrivalMs?: number | undefined;
  /** Port for HTTP/2 in the clear, with the same API; 0 takes a free one. Undefined: there is none. */
  readonly grpcPort?: number | undefined;
  readonly connections: ConnectionBounds;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Listening {
  readonly url: string;
  readonly grpcPort: number | undefined;
}

const CERTIFICATE_CHECK_MS = 10_000;
const SWEEP_MS = 50;

/** The connections of one server, over TCP or TLS, with HTTP/1.1 or HTTP/2: listens, drains and closes. */
export class HttpListener implements Disposable {
  readonly #app: FastifyInstance;
  readonly #answers: Answers;
  readonly #http2: Http2Connections[] = [];
  readonly #h2c: H2cListener | undefined;
  readonly #grpcPort: number | undefined;
  readonly #tls: TlsConnections | undefined;
  readonly #certificate: CertificateWatch | undefined;

  constructor(app: FastifyInstance, options: HttpListenerOptions) {
    const { tls, certificate, grpcPort, connections, logger, metrics } = options;
    const { arrivalMs = ARRIVAL_MS, certificateCheckMs = CERTIFICATE_CHECK_MS } = options;
    const { server } = app;
    this.#app = app;
    const http2: Http2Options = {
      listener: (request, response) => server.emit("request", request, response),
      onConnect: refuseConnectStream,
      arrivalMs,
      maxHeaderBytes: MAX_HEADER_BYTES,
    };
    this.#grpcPort = grpcPort;
    if (grpcPort !== undefined) {
      this.#h2c = new H2cListener(http2, connections);
      this.#http2.push(this.#h2c.http2);
    }
    if (server instanceof TlsServer) {
      const secure = new Http2Connections(http2);
      this.#http2.push(secure);
      this.#tls = new TlsConnections(server, secure);
      if (tls && certificate)
        this.#certificate = new CertificateWatch({
          server,
          files: tls,
          present: certificate,
          logger,
          everyMs: certificateCheckMs,
        });
    }
    metrics.observe(
      "reprise_certificate_expires_timestamp_seconds",
      () => this.#certificate?.expiresAtS ?? Number.NaN,
    );
    this.#answers = watchResponses(server);
  }

  /**
   * Returns the URL, without a slash at the end, and the port for HTTP/2 in the clear.
   * @throws RepriseError `config_invalid` if a port is taken
   */
  async listen({ host, port }: { host: string; port: number }): Promise<Listening> {
    const grpcPort = await this.#h2c?.listen({ host, port: this.#grpcPort ?? 0 });
    const listening = await this.#app.listen({ host, port }).catch((error: unknown) => {
      this.#h2c?.close();
      throw toListenError(error, "REPRISE_PORT");
    });
    return { url: this.#tls ? listening.replace(/^http:/, "https:") : listening, grpcPort };
  }

  /** Asks clients of HTTP/2 to leave. The port stays open. */
  drain(): void {
    for (const connections of this.#http2) connections.drain();
  }

  /** Sends the answers that were begun, cuts off clients that do not read within the grace period, and closes. */
  async close(graceMs: number): Promise<void> {
    const { server } = this.#app;
    const giveUpAt = performance.now() + graceMs;
    const isUnsent = () => this.#answers.unsent || this.#http2.some(({ hasStreams }) => hasStreams);
    const areSent = async () => !isUnsent() || undefined;
    await retry(areSent, { pauseMs: SWEEP_MS, budgetMs: graceMs });
    // Those that an answer has left idle meanwhile would else be kept open for further requests.
    const sweep = setInterval(() => {
      this.#tls?.abortHandshakes();
      this.drain();
      if (performance.now() >= giveUpAt) {
        server.closeAllConnections();
        this.#destroy();
      } else if (!this.#answers.unsent) server.closeIdleConnections();
    }, SWEEP_MS);
    this.#h2c?.close();
    await this.#app.close();
    this.#destroy();
    clearInterval(sweep);
  }

  #destroy(): void {
    for (const connections of this.#http2) connections.destroy();
  }

  [Symbol.dispose](): void {
    this.#certificate?.[Symbol.dispose]();
  }
}
