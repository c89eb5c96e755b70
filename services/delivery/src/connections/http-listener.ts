import { Server as TlsServer } from "node:tls";
import { retry } from "@reprise/async";
import { type Logger, type Metrics, toListenError } from "@reprise/runtime";
import type { FastifyInstance } from "fastify";
import { type Certificate, type CertificateFiles, CertificateWatch } from "./certificate.ts";
import { refuseConnectStream } from "./client-error.ts";
import { Http2Connections } from "./http2.ts";
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
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const CERTIFICATE_CHECK_MS = 10_000;
const SWEEP_MS = 50;

/** The connections of one server, over TCP or TLS, with HTTP/1.1 or HTTP/2: listens, drains and closes. */
export class HttpListener implements Disposable {
  readonly #app: FastifyInstance;
  readonly #answers: Answers;
  readonly #http2: Http2Connections | undefined;
  readonly #tls: TlsConnections | undefined;
  readonly #certificate: CertificateWatch | undefined;

  constructor(app: FastifyInstance, options: HttpListenerOptions) {
    const { tls, certificate, logger, metrics } = options;
    const { arrivalMs = ARRIVAL_MS, certificateCheckMs = CERTIFICATE_CHECK_MS } = options;
    const { server } = app;
    this.#app = app;
    if (server instanceof TlsServer) {
      this.#http2 = new Http2Connections({
        listener: (request, response) => server.emit("request", request, response),
        onConnect: refuseConnectStream,
        arrivalMs,
        maxHeaderBytes: MAX_HEADER_BYTES,
      });
      this.#tls = new TlsConnections(server, this.#http2);
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
   * Returns the URL, without a slash at the end.
   * @throws RepriseError `config_invalid` if the port is taken
   */
  async listen(address: { host: string; port: number }): Promise<string> {
    const listening = await this.#app.listen(address).catch((error: unknown) => {
      throw toListenError(error, "REPRISE_PORT");
    });
    return this.#tls ? listening.replace(/^http:/, "https:") : listening;
  }

  /** Asks clients of HTTP/2 to leave. The port stays open. */
  drain(): void {
    this.#http2?.drain();
  }

  /** Sends the answers that were begun, cuts off clients that do not read within the grace period, and closes. */
  async close(graceMs: number): Promise<void> {
    const { server } = this.#app;
    const giveUpAt = performance.now() + graceMs;
    const isUnsent = () => this.#answers.unsent || this.#http2?.hasStreams === true;
    const areSent = async () => !isUnsent() || undefined;
    await retry(areSent, { pauseMs: SWEEP_MS, budgetMs: graceMs });
    // Those that an answer has left idle meanwhile would else be kept open for further requests.
    const sweep = setInterval(() => {
      this.#tls?.abortHandshakes();
      this.#http2?.drain();
      if (performance.now() >= giveUpAt) {
        server.closeAllConnections();
        this.#http2?.destroy();
      } else if (!this.#answers.unsent) server.closeIdleConnections();
    }, SWEEP_MS);
    await this.#app.close();
    this.#http2?.destroy();
    clearInterval(sweep);
  }

  [Symbol.dispose](): void {
    this.#certificate?.[Symbol.dispose]();
  }
}
