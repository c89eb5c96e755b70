import { type Broker, type BrokerAddress, connectBroker, type ServiceUser } from "@reprise/log";
import { type BrokerWatch, FollowerWatch, type Logger, logForbidden, watchBroker } from "@reprise/service";

export interface ServiceBrokersOptions {
  readonly addressOf: (user: ServiceUser) => BrokerAddress;
  readonly shards: number;
  readonly logger: Logger;
}

/** A service's user at the broker: its connections, and whether they take appends. */
export interface ServiceBroker {
  readonly broker: Broker;
  readonly brokerWatch: BrokerWatch;
  readonly followers: FollowerWatch;
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
    const watch = this.#stack.use(watchBroker(broker, shards, logger));
    watch.failed.catch(this.#failed.reject);
    const watches = { brokerWatch: watch, followers: new FollowerWatch(logger) };
    this.#watches.set(user, watches);
    return { broker, ...watches };
  }

  /**
   * Why a service could not store an append now, or can't read what it follows: empty when all could.
   * @param except tells of its appends itself
   */
  because(except?: ServiceUser): string[] {
    return [...this.#watches].flatMap(([user, { brokerWatch, followers }]) => {
      const reasons = [...(user === except ? [] : brokerWatch.because()), ...followers.because()];
      return reasons.map((reason) => `${user}: ${reason}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
