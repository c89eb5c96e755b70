import { type GenerationRequest, parseGenerationRequest, RepriseError } from "@reprise/protocol";

/**
 * Fields that a stream token fixes in each request that it creates: all but `input`, the end user, and the conversation, which are the page's.
 * Its own `input` comes before the page's, and is the only one with the roles `system` and `developer`.
 */
export type TokenTemplate = Omit<
  GenerationRequest,
  "input" | "conversation" | "previous_generation" | "end_user"
> & {
  readonly input?: Exclude<GenerationRequest["input"], string> | undefined;
};

/** Told with each token that chooses by itself what it creates. */
export const UNBOUND_WARNING =
  "A holder of this token chooses model, prompt, tools and policy of what it creates, within the tenant's. Mint it with a template to fix them.";

const PAGES = ["conversation", "previous_generation", "end_user"] as const;

/** The roles that say what a model is to do, as against what is said to it. */
export const PROMPT_ROLES: ReadonlySet<string> = new Set(["system", "developer"]);

/** Placeholder for the page's messages. */
const PLACEHOLDER = "x";

/** @throws RepriseError `invalid_request` that names the first wrong field, below `template` */
export function parseTokenTemplate(value: unknown): TokenTemplate {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(undefined, "must be an object");
  for (const name of PAGES) if (name in value) throw wrong(name, "is the page's");
  const { input: own, ...fields } = value as Record<string, unknown>;
  try {
    const { input, ...fixed } = parseGenerationRequest({ ...fields, input: own ?? PLACEHOLDER });
    if (own === undefined) return fixed;
    if (typeof input === "string" || !input.every(({ role }) => PROMPT_ROLES.has(role)))
      throw new RepriseError(
        "invalid_request",
        `input: must be messages of ${[...PROMPT_ROLES].join(" and ")}`,
        {
          param: "input",
        },
      );
    return { ...fixed, input };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const problem = error.param === undefined ? error.message : error.message.replace(/^[^:]*: /, "");
    throw wrong(error.param, problem);
  }
}

/** @returns undefined for a text that no issuer may have signed */
export function decodeTokenTemplate(text: string): TokenTemplate | undefined {
  try {
    return parseTokenTemplate(JSON.parse(text));
  } catch (error) {
    if (error instanceof RepriseError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function wrong(field: string | undefined, problem: string): RepriseError {
  const param = field === undefined ? "template" : `template.${field}`;
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
