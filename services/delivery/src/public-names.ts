import type { ServedBy } from "@reprise/protocol";
import type { ModelCatalogue, ModelCosts } from "./limits/model-prices.ts";

export interface NamesInUse {
  models: ReadonlySet<string>;
  /** Prices of the models. Default: no model has a price, and budgets in money refuse all. */
  costs?: ModelCatalogue | undefined;
  /** Capabilities of the models. Default: unknown here, so the workers refuse requests that a model cannot serve. */
  served?: ReadonlyMap<string, ServedBy> | undefined;
  /** The classifiers that rules of requests may name. Default: any, for this node does not know them. */
  classifiers?: ReadonlySet<string> | undefined;
}

/** The names that requests may use. They can be replaced while requests are served. */
export class PublicNames {
  #names: NamesInUse;

  constructor(names: NamesInUse) {
    this.#names = names;
  }

  replace(names: NamesInUse): void {
    this.#names = names;
  }

  readonly modelNames = (): ReadonlySet<string> => this.#names.models;
  readonly costsOf = (model: string): ModelCosts | undefined => this.#names.costs?.get(model);
  readonly servedBy = (model: string): ServedBy | undefined => this.#names.served?.get(model);
  readonly classifiers = (): ReadonlySet<string> | undefined => this.#names.classifiers;
}
