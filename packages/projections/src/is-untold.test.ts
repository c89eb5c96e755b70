import { describe, expect, it } from "vitest";
import { agUiProjection } from "./ag-ui/project.ts";
import { createUiStream } from "./ai-sdk/project.ts";
import { chatProjection } from "./openai-chat/project.ts";
import { openaiResponses } from "./openai-responses/project.ts";
import type { Projection } from "./projection.ts";
import { completed, delta, type Draft, framesOf, logOf } from "./projection-laws.fixture.ts";
import { tanstackProjection } from "./tanstack/project.ts";

const PROJECTIONS = [
  chatProjection({ includeUsage: false }),
  openaiResponses,
  createUiStream({}),
  agUiProjection(),
  tanstackProjection(),
] as unknown as Projection<unknown>[];

const rewind = (to_seq: number, reason: string) => ({ type: "output.rewind", to_seq, reason });
const item = (number: number, text: string, final?: true) => ({ ...delta(text), item: number, final });

describe.each(PROJECTIONS.map((projection) => [projection.name, projection] as const))(
  "%s",
  (_name, projection) => {
    const toldOf = (...drafts: Draft[]) =>
      framesOf(projection, logOf(...drafts))
        .slice(1, -1)
        .flat()
        .map(({ data }) => data)
        .join();

    it("tells an item once its text is final, and continues after an interrupt", () => {
      const guessed = [item(1, "Guess"), rewind(1, "revised")];
      const told = toldOf(
        ...guessed,
        item(1, "Final", true),
        delta(" more"),
        rewind(4, "interrupted"),
        delta(" next"),
        completed(),
      );
      const plain = toldOf(item(1, "Final", true), delta(" more"), delta(" next"), completed());
      const withoutPlaces = (frames: string) =>
        frames.replaceAll(/text-[0-9]+|"sequence_number":[0-9]+/g, "");
      expect(withoutPlaces(told)).toBe(withoutPlaces(plain));
      expect(told).toContain("Final");
      expect(told).not.toContain("Guess");
    });
  },
);
