import type { FactStore } from "../fact-store.ts";
import type { LaneFacts } from "../lane-facts.ts";
import type { StoreIdentity } from "./store-identity.ts";

type Identity = Pick<StoreIdentity, "check">;

/** Lanes that begin and commit only where the store is the one that it was: of stores that don't look themselves. */
export function identifyFacts(facts: FactStore, identity: Identity): FactStore {
  return {
    ...facts,
    lane: (stream) => identifyLane(facts.lane(stream), identity),
    deliveries: (stream) => identifyLane(facts.deliveries(stream), identity),
  };
}

function identifyLane<Row, Fold>(lane: LaneFacts<Row, Fold>, identity: Identity): LaneFacts<Row, Fold> {
  return {
    get position() {
      return lane.position;
    },
    async last() {
      const last = await lane.last();
      await identity.check();
      return last;
    },
    all: () => lane.all(),
    restore: (start) => lane.restore(start),
    async commit(draft, folds) {
      await identity.check();
      return lane.commit(draft, folds);
    },
  };
}
