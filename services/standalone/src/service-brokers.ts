import { type Broker, type BrokerAddress, connectBroker, type ServiceUser } from "@reprise/broker";
import {
  type BrokerWatch,
  DependencyWatches,
  type Logger,
  logForbidden,
  type Metrics,
  observeBroker,
  watchBroker,
} from "@reprise/runtime";

export interface ServiceBrokersOptions {
  readonly addressOf: (user: ServiceUser) => BrokerAddress;
  readonly shards: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A service's user at the broker: its connections, and whether they take appends. */
export interface ServiceBroker {
  readonly broker: Broker;
  readonly brokerWatch: BrokerWatch;
  /** The dependencies of the service. */
  readonly watches: DependencyWatches;
}

/** The connections of all services: each has a user and connections of its own, as it has in a process of its own. */
export class ServiceBrokers implements AsyncDisposable {
  readonly #options: ServiceBrokersOptions;
  readonly #stack = new AsyncDisposableStack();
  readonly #watches = new Map<ServiceUser, Omit<ServiceBroker, "broker">>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(options: ServiceBrokersOptions) {
    this.#options = options;
    this.#failed.promise.catch(() => {});
  }

  /** Rejects when the broker's logs are spread over another number of shards by now. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** @throws RepriseError `broker_unavailable`, `config_invalid` */
  async open(user: ServiceUser): Promise<ServiceBroker> {
    const { addressOf, shards } = this.#options;
    const logger = this.#options.logger.child({ user });
    const onError = (err: unknown) => logger.error({ err }, "a request to the broker has failed");
    const broker = this.#stack.use(await connectBroker({ ...addressOf(user), user, name: user, onError }));
    logForbidden(broker, logger);
    const { metrics } = this.#options;
    this.#stack.use(observeBroker(broker, { metrics, service: user }));
    const watches = this.#stack.use(new DependencyWatches({ service: user, logger, metrics }));
    const brokerWatch = this.#stack.use(watchBroker(broker, shards, watches));
    metrics.observeEach("reprise_broker_replicas_missing", () => [
      [{ service: user }, brokerWatch.missingReplicas()],
    ]);
    brokerWatch.failed.catch(this.#failed.reject);
    this.#watches.set(user, { brokerWatch, watches });
    return { broker, brokerWatch, watches };
  }

  /**
   * Why a service could not store an append now, or can't read what it follows: empty when all could.
   * @param except tells of its appends itself
   */
  because(except?: ServiceUser): string[] {
    return [...this.#watches].flatMap(([user, { brokerWatch, watches }]) => {
      const reasons = [...(user === except ? [] : brokerWatch.because()), ...watches.because()];
      return reasons.map((reason) => `${user}: ${reason}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
