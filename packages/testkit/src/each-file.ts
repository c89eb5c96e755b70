import fc from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Seed of all properties that name none. */
    seed: number;
  }
}

/* Runs before each test file, by vitest's `setupFiles`. */

fc.configureGlobal({ seed: inject("seed") });
