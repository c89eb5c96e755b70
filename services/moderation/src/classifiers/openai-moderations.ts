import * as z from "zod";
import type { Classifier, Judgement } from "./classifier.ts";
import { createJsonEndpoint, type EndpointOptions } from "./json-endpoint.ts";

export interface RemoteClassifierOptions extends EndpointOptions {
  readonly name: string;
  readonly model: string;
}

/** The category if a classifier flags without naming one. */
const UNNAMED = "flagged";

/** Some categories are null for what a model does not judge. */
const answerSchema = z.object({
  results: z.tuple([
    z.object({
      flagged: z.boolean(),
      categories: z.record(z.string(), z.boolean().nullish()).default({}),
      category_scores: z.record(z.string(), z.number().nullish()).nullish(),
    }),
  ]),
});

/**
 * Anything with OpenAI's `POST <base URL>/moderations`. Its categories have the names it gives them, such as `violence/graphic`; it
 * judges a text without the question that it answers.
 */
export function createOpenaiModerations({ name, model, ...options }: RemoteClassifierOptions): Classifier {
  const endpoint = createJsonEndpoint(options);
  return {
    name,
    async classify({ input }, signal) {
      const answer = await endpoint.post("/moderations", { model, input }, signal);
      return answer.kind === "json" ? toJudgement(answer.value) : answer;
    },
    close: () => endpoint.close(),
  };
}

function toJudgement(value: unknown): Judgement {
  const { data } = answerSchema.safeParse(value);
  if (data === undefined) return { kind: "unjudged", reason: "invalid", detail: "not a moderation" };
  const [{ flagged, categories, category_scores: scores }] = data.results;
  const named = Object.keys(categories).filter((category) => categories[category]);
  return {
    kind: "judged",
    flagged: flagged && named.length === 0 ? [UNNAMED] : named,
    scores: Object.fromEntries(
      Object.entries(scores ?? {}).flatMap(([category, score]) => toScore(category, score)),
    ),
  };
}

function toScore(category: string, score: number | null | undefined): [string, number][] {
  return typeof score === "number" ? [[category, Math.min(Math.max(score, 0), 1)]] : [];
}
