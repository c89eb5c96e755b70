import { HttpMetrics, type Metrics } from "@reprise/service";
import type { FastifyReply, FastifyRequest } from "fastify";

interface Arrival {
  readonly atMs: number;
  isAnswered: boolean;
}

/** How many requests there are, and how long their answers take to begin. */
export class RequestMetrics {
  readonly #http: HttpMetrics;
  readonly #arrivals = new WeakMap<FastifyRequest, Arrival>();

  constructor(metrics: Metrics) {
    this.#http = new HttpMetrics(metrics, "delivery");
  }

  begin(request: FastifyRequest, { raw: response }: FastifyReply): void {
    this.#http.arrived();
    this.#arrivals.set(request, { atMs: performance.now(), isAnswered: false });
    response.once("close", () => {
      this.answered(request, response.headersSent ? response.statusCode : undefined);
      this.#http.over();
    });
  }

  /** Milliseconds since the request's arrival. Fastify counts them only where it logs. */
  elapsedMs(request: FastifyRequest): number {
    const now = performance.now();
    return now - (this.#arrivals.get(request)?.atMs ?? now);
  }

  /** The answer begins: the first call counts. */
  answered(request: FastifyRequest, status: number | undefined): void {
    const arrival = this.#arrivals.get(request);
    if (!arrival || arrival.isAnswered) return;
    arrival.isAnswered = true;
    const { method, routeOptions } = request;
    this.#http.answered({ method, route: routeOptions.url, status }, this.elapsedMs(request) / 1_000);
  }
}
