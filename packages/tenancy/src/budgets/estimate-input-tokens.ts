import type { GenerationRequest } from "@reprise/protocol";

/** Of UTF-8, as tokenizers have it of English text; for others it is too low or too high by a factor of two. */
const BYTES_PER_TOKEN = 4;

/** What an input counts in a budget until its engine has said how many tokens it has. */
export function estimateInputTokens({ input }: Pick<GenerationRequest, "input">): number {
  const bytes =
    typeof input === "string"
      ? Buffer.byteLength(input)
      : input.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
