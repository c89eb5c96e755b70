import type { Capability, Dialect } from "@reprise/protocol";
import { askModel } from "../told-capabilities.ts";
import type { ToldModel } from "../told-model.ts";
import type { Upstream } from "../upstream.ts";

/** The answers of a model's servers so far. */
export interface ToldByAll {
  /** The capabilities that all servers with an answer share. */
  readonly capabilities: readonly Capability[];
  /** The fewest that one takes; undefined where none says it. */
  readonly contextTokens: number | undefined;
  /** True if every server has answered. */
  readonly isWhole: boolean;
}

/**
 * Asks each server of a model until it has answered once.
 * @returns asks those that have not; undefined where none has yet
 */
export function askReplicas(
  upstreams: readonly Pick<Upstream, "get" | "post">[],
  model: { readonly dialect: Dialect; readonly upstreamModel: string },
): (signal: AbortSignal) => Promise<ToldByAll | undefined> {
  const answers: (ToldModel | undefined)[] = upstreams.map(() => undefined);
  return async (signal) => {
    await Promise.all(
      upstreams.map(async (upstream, i) => {
        answers[i] ??= await askModel(upstream, model, signal);
      }),
    );
    const told = answers.filter((answer) => answer !== undefined);
    const [first, ...others] = told;
    if (!first) return undefined;
    const takes = told.map(({ contextTokens, mostTokens }) => contextTokens ?? mostTokens);
    const known = takes.filter((tokens) => tokens !== undefined);
    return {
      capabilities: first.capabilities.filter((name) =>
        others.every(({ capabilities }) => capabilities.includes(name)),
      ),
      contextTokens: known.length > 0 ? Math.min(...known) : undefined,
      isWhole: told.length === answers.length,
    };
  };
}
