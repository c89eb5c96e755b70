import type { Observer } from "./distribution.ts";
import type { Metrics } from "./metrics.ts";

export interface AnsweredRequest {
  readonly method: string;
  /** The template, never the path; undefined where none matches. */
  readonly route: string | undefined;
  /** Undefined where the client left before its answer. */
  readonly status: number | undefined;
}

/** Unknown methods from clients must not make series: all others count as one. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OTHER_METHOD = "other";
const NO_ROUTE = "none";
const LEFT = "left";

/** The metrics of one service's HTTP server. Its labels take few values, for any requests of clients. */
export class HttpMetrics {
  readonly #metrics: Metrics;
  readonly #service: string;
  readonly #observers = new Map<string, Observer>();
  readonly #inFlight: { inc(): void; dec(): void };

  constructor(metrics: Metrics, service: string) {
    this.#metrics = metrics;
    this.#service = service;
    this.#inFlight = metrics.gauge("reprise_http_requests_in_flight").labels({ service });
  }

  /** A request has arrived. To be called once, and then `over`. */
  arrived(): void {
    this.#inFlight.inc();
  }

  /** The head of its answer is written, or will never be. */
  answered(request: AnsweredRequest, seconds: number): void {
    this.#observerOf(request).observe(seconds);
  }

  /** Its answer is over, or its client has left. */
  over(): void {
    this.#inFlight.dec();
  }

  #observerOf({ method, route = NO_ROUTE, status }: AnsweredRequest): Observer {
    const labels = {
      service: this.#service,
      method: METHODS.has(method) ? method : OTHER_METHOD,
      route,
      status: status === undefined ? LEFT : `${Math.floor(status / 100)}xx`,
    };
    const key = `${labels.method} ${labels.status} ${route}`;
    let observer = this.#observers.get(key);
    if (!observer)
      this.#observers.set(key, (observer = this.#metrics.observer("reprise_http_request_seconds", labels)));
    return observer;
  }
}
