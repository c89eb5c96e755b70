import { HttpMetrics, type Metrics } from "@reprise/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { NO_STALLS, type StalledTime } from "./stalls.ts";

interface Arrival {
  readonly atMs: number;
  isAnswered: boolean;
}

/** Metrics of requests: their number, and the time until their answers begin. */
export class RequestMetrics {
  readonly #http: HttpMetrics;
  readonly #arrivals = new WeakMap<FastifyRequest, Arrival>();

  readonly stalls: StalledTime;

  constructor(metrics: Metrics, stalls = NO_STALLS) {
    this.#http = new HttpMetrics(metrics, "delivery");
    this.stalls = stalls;
  }

  begin(request: FastifyRequest, { raw: response }: FastifyReply): void {
    this.#http.arrived();
    this.#arrivals.set(request, { atMs: this.stalls.arrivalAt(performance.now()), isAnswered: false });
    response.once("close", () => {
      this.answered(request, response.headersSent ? response.statusCode : undefined);
      this.#http.over();
    });
  }

  /** When the request arrived, by `performance.now()`. Fastify knows it only where it logs. */
  arrivedAtMs(request: FastifyRequest): number {
    return this.#arrivals.get(request)?.atMs ?? performance.now();
  }

  elapsedMs(request: FastifyRequest): number {
    return performance.now() - this.arrivedAtMs(request);
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
