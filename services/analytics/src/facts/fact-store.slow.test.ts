import { afterAll, beforeAll, describe } from "vitest";
import { FACT_TARGETS, type FactTarget, startPostgresFacts } from "../testing/fact-targets.ts";
import { describeFactStore } from "./fact-store.fixture.ts";
import { describeRowSource } from "./row-source.fixture.ts";

const FEW_CHECKPOINTS = {
  name: "PostgreSQL, a checkpoint for 8 commits",
  start: () => startPostgresFacts({ checkpointEvery: 8 }),
};

describe.each([...FACT_TARGETS, FEW_CHECKPOINTS])("in $name", ({ start }) => {
  let target: FactTarget;
  beforeAll(async () => void (target = await start()));
  afterAll(() => target[Symbol.asyncDispose]());

  describeFactStore(() => target);
  describeRowSource(() => target);
});
